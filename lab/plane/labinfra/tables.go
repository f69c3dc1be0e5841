// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	_ "k8s.io/kubernetes/pkg/apis/policy/install"
	_ "k8s.io/kubernetes/pkg/apis/rbac/install"
	_ "k8s.io/kubernetes/pkg/apis/storage/install"
	"k8s.io/kubernetes/pkg/printers"
	printersinternal "k8s.io/kubernetes/pkg/printers/internalversion"
	printerstorage "k8s.io/kubernetes/pkg/printers/storage"
)

// withTables answers "kubectl get" as a real API server does. The in-memory one knows no tables, and without them
// kubectl shows names and ages only.
func withTables(api http.Handler) http.Handler {
	generator := printers.NewTableGenerator().With(printersinternal.AddHandlers)
	convertor := printerstorage.TableConvertor{TableGenerator: generator}
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if !wantsTable(r) {
			api.ServeHTTP(rw, r)
			return
		}
		plain := r.Clone(r.Context())
		plain.Header.Set("Accept", runtime.ContentTypeJSON)
		answer := httptest.NewRecorder()
		api.ServeHTTP(answer, plain)
		body := answer.Body.Bytes()
		if answer.Code == http.StatusOK {
			if table, err := convert(r.Context(), convertor, body); err == nil {
				body = table
			}
		}
		rw.Header().Set("Content-Type", runtime.ContentTypeJSON)
		rw.WriteHeader(answer.Code)
		_, _ = rw.Write(body)
	})
}

func wantsTable(r *http.Request) bool {
	if r.Method != http.MethodGet || r.URL.Query().Has("watch") {
		return false
	}
	return strings.Contains(r.Header.Get("Accept"), "as=Table")
}

func convert(ctx context.Context, convertor printerstorage.TableConvertor, body []byte) ([]byte, error) {
	object, _, err := legacyscheme.Codecs.UniversalDecoder().Decode(body, nil, nil)
	if err != nil {
		return nil, err
	}
	table, err := convertor.ConvertToTable(ctx, object, nil)
	if err != nil {
		return nil, err
	}
	table.TypeMeta = metav1.TypeMeta{APIVersion: metav1.SchemeGroupVersion.String(), Kind: "Table"}
	for i := range table.Rows {
		row := &table.Rows[i].Object
		accessor, err := meta.Accessor(row.Object)
		if err != nil {
			return nil, err
		}
		partial := meta.AsPartialObjectMetadata(accessor)
		partial.TypeMeta = metav1.TypeMeta{APIVersion: metav1.SchemeGroupVersion.String(), Kind: "PartialObjectMetadata"}
		row.Object = partial
	}
	out := &bytes.Buffer{}
	err = json.NewEncoder(out).Encode(table)
	return out.Bytes(), err
}
