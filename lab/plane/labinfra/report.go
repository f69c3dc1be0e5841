// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// report says what helm has installed of each addon, and lets tests hold the addon provider, which is no process.
type report struct {
	mu        sync.Mutex
	held      time.Time // until then the provider does nothing
	installed map[types.UID]string
}

func (r *report) holds() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return time.Now().Before(r.held)
}

// note takes over what is installed; of an installation that goes on nobody knows.
func (r *report) note(releases map[types.UID]release) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.installed = map[types.UID]string{}
	for uid, each := range releases {
		if each.since.IsZero() {
			r.installed[uid] = each.content
		}
	}
}

// ServeHTTP answers GET with JSON, UID -> content, and holds the provider for the duration in ?hold= of a POST.
func (r *report) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if request.Method == http.MethodPost {
		duration, err := time.ParseDuration(request.URL.Query().Get("hold"))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		r.held = time.Now().Add(duration)
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(r.installed)
}
