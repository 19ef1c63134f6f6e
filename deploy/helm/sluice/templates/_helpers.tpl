{{- define "sluice.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "sluice.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" }}
{{- else if contains (include "sluice.name" .) .Release.Name }}
{{- .Release.Name | trunc 63 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name (include "sluice.name" .) | trunc 63 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "sluice.selector" -}}
app.kubernetes.io/name: {{ include "sluice.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "sluice.labels" -}}
{{ include "sluice.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "sluice.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- define "sluice.securityContext" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
readOnlyRootFilesystem: true
allowPrivilegeEscalation: false
capabilities: { drop: [ALL] }
seccompProfile: { type: RuntimeDefault }
{{- end }}

{{/* The port of probes and Prometheus: the one without TLS, if there is one. */}}
{{- define "sluice.probedPort" -}}
{{- if dig "metrics" "port" "" .Values.config }}metrics{{ else }}http{{ end }}
{{- end }}

{{/* The variables of the container: those of the Secret, the metrics' token, and `env`. */}}
{{- define "sluice.env" -}}
{{- $secret := .Values.secret.name -}}
{{- range $name, $key := .Values.secret.env }}
{{- if $key }}
- name: {{ $name }}
  valueFrom: { secretKeyRef: { name: {{ $secret }}, key: {{ $key }} } }
{{- end }}
{{- end }}
{{- if and .Values.metrics.podMonitor.enabled .Values.metrics.tokenKey }}
- name: SLUICE_METRICS_TOKEN
  valueFrom: { secretKeyRef: { name: {{ $secret }}, key: {{ .Values.metrics.tokenKey }} } }
{{- end }}
{{- with .Values.env }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* Refuses values that contradict each other. */}}
{{- define "sluice.check" -}}
{{- if and (eq .Values.mode "sidecar") (omit .Values.config "server" "providers") }}
{{- fail (printf "config.%s is set, but mode sidecar has no configuration file: set variables in env, such as SET_RATE_LIMIT_APP or SLUICE_CLUSTER_URL" (keys (omit .Values.config "server" "providers") | sortAlpha | first)) }}
{{- end }}
{{- if and (eq .Values.mode "sidecar") .Values.secret.files }}
{{- fail "secret.files is set, but mode sidecar mounts no files: name the keys in secret.env" }}
{{- end }}
{{- if and (eq .Values.mode "central") (not (dig "cluster" "url" "" .Values.config)) }}
{{- if gt (int .Values.central.replicas) 1 }}
{{- fail (printf "central.replicas is %d, but config.cluster.url isn't set: each pod would have limits and keys of its own. Set config.cluster.url to a Valkey or Redis, or central.replicas to 1" (int .Values.central.replicas)) }}
{{- end }}
{{- if .Values.central.autoscaling.enabled }}
{{- fail "central.autoscaling.enabled is true, but config.cluster.url isn't set: each pod would have limits and keys of its own. Set config.cluster.url to a Valkey or Redis" }}
{{- end }}
{{- end }}
{{- if and (dig "server" "tls" "" .Values.config) (not (dig "metrics" "port" "" .Values.config)) }}
{{- fail "config.server.tls is set, but config.metrics.port isn't: probes and Prometheus need a port without TLS. Set config.metrics to { host: 0.0.0.0, port: 9464 }" }}
{{- end }}
{{- with .Values.central.autoscaling }}
{{- if and .enabled (gt (int .minReplicas) (int .maxReplicas)) }}
{{- fail (printf "central.autoscaling.minReplicas is %d, more than maxReplicas, %d" (int .minReplicas) (int .maxReplicas)) }}
{{- end }}
{{- end }}
{{- $server := .Values.config.server | default dict }}
{{- $drain := add (int (get $server "drain_grace_seconds" | default 2)) (int (get $server "drain_seconds" | default 25)) 5 }}
{{- if and (ne .Values.mode "sidecar") (le (int .Values.terminationGracePeriodSeconds) (int $drain)) }}
{{- fail (printf "terminationGracePeriodSeconds is %d, but a drain takes up to %d seconds (config.server.drain_grace_seconds + drain_seconds + 5): running requests would be cut" (int .Values.terminationGracePeriodSeconds) (int $drain)) }}
{{- end }}
{{- end }}

{{/* The pod of a central or node gateway. */}}
{{- define "sluice.pod" -}}
metadata:
  labels:
    {{- include "sluice.selector" . | nindent 4 }}
    {{- with .Values.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  annotations:
    # A changed configuration replaces the pods, one after the other.
    sluice.dev/config: {{ toYaml .Values.config | sha256sum }}
    {{- with .Values.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  automountServiceAccountToken: false
  {{- with .Values.serviceAccount.name }}
  serviceAccountName: {{ . }}
  {{- end }}
  {{- with .Values.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  terminationGracePeriodSeconds: {{ .Values.terminationGracePeriodSeconds }}
  {{- with .Values.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  {{- with .Values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  securityContext:
    # For the files of the Secret, and a central gateway's volumes.
    fsGroup: 65532
  {{- if eq .Values.mode "central" }}
  topologySpreadConstraints:
    {{- with .Values.topologySpreadConstraints }}
    {{- toYaml . | nindent 4 }}
    {{- else }}
    - maxSkew: 1
      topologyKey: kubernetes.io/hostname
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "sluice.selector" . | nindent 10 }}
    {{- end }}
  {{- else }}
  initContainers:
    # The directories of the node belong to root when Kubernetes makes them.
    - name: own-store
      image: busybox:1.37
      command: [chown, "65532:65532", /var/lib/sluice, /var/backups/sluice]
      securityContext:
        runAsUser: 0
        readOnlyRootFilesystem: true
        allowPrivilegeEscalation: false
        capabilities: { drop: [ALL], add: [CHOWN] }
      volumeMounts:
        - { name: data, mountPath: /var/lib/sluice }
        - { name: backups, mountPath: /var/backups/sluice }
  {{- end }}
  containers:
    - name: sluice
      image: {{ include "sluice.image" . }}
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      args: [--config, /etc/sluice/sluice.yaml, up]
      env:
        {{- include "sluice.env" . | trim | nindent 8 }}
      ports:
        - { name: http, containerPort: 8080 }
        {{- with dig "metrics" "port" "" .Values.config }}
        - { name: metrics, containerPort: {{ . }} }
        {{- end }}
      {{- $probed := include "sluice.probedPort" . }}
      startupProbe:
        httpGet: { path: /ready, port: {{ $probed }} }
        periodSeconds: 1
        failureThreshold: 60
      livenessProbe:
        httpGet: { path: /health, port: {{ $probed }} }
        periodSeconds: 20
      readinessProbe:
        httpGet: { path: /ready, port: {{ $probed }} }
        periodSeconds: 2
      securityContext:
        {{- include "sluice.securityContext" . | nindent 8 }}
      resources:
        {{- toYaml .Values.resources | nindent 8 }}
      volumeMounts:
        - { name: config, mountPath: /etc/sluice, readOnly: true }
        {{- if .Values.secret.files }}
        - { name: secrets, mountPath: /etc/sluice/secrets, readOnly: true }
        {{- end }}
        - { name: data, mountPath: /var/lib/sluice }
        - { name: run, mountPath: /run/sluice }
        - { name: tmp, mountPath: /tmp }
    {{- if include "sluice.backup" . }}
    # A backup an hour after the start, then one a day. Only this pod has the daemon's socket, so a
    # CronJob can't make it.
    - name: backup
      image: {{ include "sluice.image" . }}
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      command:
        - /opt/sluice/node/bin/node
        - -e
        - |
          const run = () => require("node:child_process").spawn(process.execPath, process.argv.slice(1), { stdio: "inherit" });
          setTimeout(() => { run(); setInterval(run, 24 * 3600 * 1000); }, 3600 * 1000);
          process.on("SIGTERM", () => process.exit());
      args: [/opt/sluice/dist/programs/sluice.js, --config, /etc/sluice/sluice.yaml, backup, --keep, {{ .Values.backup.keep | quote }}, /var/backups/sluice]
      securityContext:
        {{- include "sluice.securityContext" . | nindent 8 }}
      resources:
        requests: { cpu: 10m, memory: 64Mi }
        limits: { memory: 512Mi }
      volumeMounts:
        - { name: config, mountPath: /etc/sluice, readOnly: true }
        - { name: backups, mountPath: /var/backups/sluice }
        - { name: run, mountPath: /run/sluice }
        - { name: tmp, mountPath: /tmp }
    {{- end }}
  volumes:
    - name: config
      configMap: { name: {{ include "sluice.fullname" . }} }
    {{- if .Values.secret.files }}
    - name: secrets
      secret:
        secretName: {{ .Values.secret.name }}
        defaultMode: 0440
        items:
          {{- range .Values.secret.files }}
          - { key: {{ . }}, path: {{ . }} }
          {{- end }}
    {{- end }}
    {{- if eq .Values.mode "node" }}
    - name: data
      hostPath: { path: {{ .Values.node.dataPath }}, type: DirectoryOrCreate }
    - name: backups
      hostPath: { path: {{ .Values.node.backupPath }}, type: DirectoryOrCreate }
    {{- else if eq .Values.central.kind "Deployment" }}
    # The store lives as long as the pod.
    - { name: data, emptyDir: {} }
    {{- end }}
    - { name: run, emptyDir: { medium: Memory } }
    - { name: tmp, emptyDir: {} }
{{- end }}

{{/* "yes" where a store outlives its pod, and backups are on. */}}
{{- define "sluice.backup" -}}
{{- if and .Values.backup.enabled (or (eq .Values.mode "node") (eq .Values.central.kind "StatefulSet")) }}yes{{ end }}
{{- end }}
