package observe

import (
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/proxy-dispatch/proxy-dispatch/dispatch"
)

const (
	namespace = "proxy_dispatch"
	other     = "other"
)

var actions = []string{"search", "list", "describe", "call", "batch", "readresult", "status", "help", "run"}

// states are those a server can be in; each is a series that is 1 while it is in it.
var states = []string{"ready", "asleep", "starting", "needs login", "failing", "disabled"}

// metrics has a registry of its own, so that two of them in one process do not meet.
type metrics struct {
	registry *prometheus.Registry
	inFlight prometheus.Gauge
	requests *prometheus.CounterVec
	calls    *prometheus.CounterVec
	duration *prometheus.HistogramVec
	bytes    *prometheus.CounterVec
	tokens   *prometheus.CounterVec
	spilled  *prometheus.CounterVec
	labels   *labels
}

func newMetrics(o Options) *metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels)
	}
	m := &metrics{
		registry: prometheus.NewRegistry(),
		labels:   newLabels(o.Servers, o.MaxTools),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{Namespace: namespace, Name: "requests_in_flight", Help: "Requests being worked on."}),
		requests: counter("requests_total", "Requests by action and outcome.", "action", "outcome"),
		calls:    counter("calls_total", "Calls by connection, tool and outcome.", "connection", "tool", "outcome"),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: namespace, Name: "request_duration_seconds", Help: "Time from a request to its answer.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60},
		}, []string{"action", "connection"}),
		bytes:   counter("result_bytes_total", "Bytes of the servers' results.", "connection"),
		tokens:  counter("result_tokens_total", "Estimated tokens of the servers' results, by whether the agent got them inline or spilled.", "connection", "way"),
		spilled: counter("spilled_results_total", "Results that were spilled.", "connection"),
	}
	m.registry.MustRegister(m.inFlight, m.requests, m.calls, m.duration, m.bytes, m.tokens, m.spilled,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), newCurrent(o))
	return m
}

// record counts one request.
func (m *metrics) record(c dispatch.CallInfo, out dispatch.Outcome, took time.Duration) {
	action := c.Action
	if !slices.Contains(actions, action) {
		action = other
	}
	connection, tool := m.labels.of(out.Connection, out.Tool)
	m.requests.WithLabelValues(action, outcome(out)).Inc()
	m.duration.WithLabelValues(action, connection).Observe(took.Seconds())
	if action == "call" {
		m.calls.WithLabelValues(connection, tool, outcome(out)).Inc()
	}
	if out.Bytes > 0 {
		m.bytes.WithLabelValues(connection).Add(float64(out.Bytes))
		way := "inline"
		if out.Spilled {
			way = "spilled"
			m.spilled.WithLabelValues(connection).Inc()
		}
		m.tokens.WithLabelValues(connection, way).Add(float64(max(out.Tokens, 0)))
	}
}

// Metrics serves the metrics in the format that Prometheus reads.
func (o *Observer) Metrics() http.Handler {
	return promhttp.HandlerFor(o.metrics.registry, promhttp.HandlerOpts{Registry: o.metrics.registry})
}

// labels keeps the number of series bounded: names that agents or servers make up end as "other".
type labels struct {
	servers func() []string // the configured ones
	max     int

	mu   sync.RWMutex
	seen map[[2]string]bool
}

func newLabels(servers func() []string, maxTools int) *labels {
	return &labels{servers: servers, max: maxTools, seen: map[[2]string]bool{}}
}

// of returns the labels of a resolved connection and tool; both are empty when nothing was resolved.
func (l *labels) of(connection, tool string) (string, string) {
	if connection == "" {
		return "", ""
	}
	pair := [2]string{connection, tool}
	l.mu.RLock()
	known := l.seen[pair]
	l.mu.RUnlock()
	if known {
		return connection, tool
	}
	if !slices.Contains(l.servers(), connection) {
		return other, other
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.seen) >= l.max && !l.seen[pair] {
		return connection, other
	}
	l.seen[pair] = true
	return connection, tool
}

// current collects what is asked for only when metrics are read.
type current struct {
	o                                   Options
	server, files, bytes, saved, tracks *prometheus.Desc
}

func newCurrent(o Options) *current {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(namespace+"_"+name, help, labels, nil)
	}
	return &current{
		o:      o,
		server: desc("server_state", "1 for the state a server is in.", "connection", "state"),
		files:  desc("spill_files", "Files kept of spilled results."),
		bytes:  desc("spill_bytes", "Bytes kept of spilled results."),
		saved:  desc("tokens_saved", "Tokens saved against showing every tool natively."),
		tracks: desc("build_info", "1, with the version of the program.", "version"),
	}
}

// Describe names the series.
func (c *current) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.server, c.files, c.bytes, c.saved, c.tracks} {
		ch <- d
	}
}

// Collect asks for the values.
func (c *current) Collect(ch chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	gauge(c.tracks, 1, c.o.Version)
	if c.o.State != nil {
		for _, s := range c.o.Servers() {
			now := c.o.State(s)
			for _, state := range states {
				v := 0.0
				if state == now {
					v = 1
				}
				gauge(c.server, v, s, state)
			}
		}
	}
	if c.o.Spill != nil {
		files, bytes := c.o.Spill()
		gauge(c.files, float64(files))
		gauge(c.bytes, float64(bytes))
	}
	if c.o.Saved != nil {
		gauge(c.saved, float64(c.o.Saved()))
	}
}
