// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/http"
	"sync"
	"time"
)

// hold lets tests hold the addon provider, which is no process.
type hold struct {
	mu   sync.Mutex
	held time.Time // until then the provider does nothing
}

func (h *hold) holds() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return time.Now().Before(h.held)
}

// ServeHTTP holds the provider for the duration in ?hold=.
func (h *hold) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	duration, err := time.ParseDuration(request.URL.Query().Get("hold"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.held = time.Now().Add(duration)
}
