{{/* The name of everything that a release has. */}}
{{- define "tidings.name" -}}
{{- if contains "tidings" .Release.Name }}{{ .Release.Name }}{{ else }}{{ .Release.Name }}-tidings{{ end -}}
{{- end }}

{{/* What selects the pods. It can't change between versions. */}}
{{- define "tidings.selector" -}}
app.kubernetes.io/name: tidings
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "tidings.labels" -}}
{{ include "tidings.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "tidings.image" -}}
{{- $repository := required "Set image.repository to where the image is, such as registry.example.com/tidings." .Values.image.repository -}}
{{- if .Values.image.digest -}}
{{ $repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ $repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end }}

{{/* The pod of both ways to run. */}}
{{- define "tidings.pod" -}}
metadata:
  labels:
    {{- include "tidings.labels" . | nindent 4 }}
  {{- with .Values.podAnnotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  automountServiceAccountToken: false
  enableServiceLinks: false
  terminationGracePeriodSeconds: 30
  {{- with .Values.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- if .Values.postgres.enabled }}
  topologySpreadConstraints:
    - maxSkew: 1
      topologyKey: kubernetes.io/hostname
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "tidings.selector" . | nindent 10 }}
  {{- end }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 65532
    runAsGroup: 65532
    fsGroup: 65532
    {{- if not .Values.postgres.enabled }}
    fsGroupChangePolicy: OnRootMismatch
    {{- end }}
    seccompProfile:
      type: RuntimeDefault
  containers:
    - name: tidings
      image: {{ include "tidings.image" . | quote }}
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      env:
        - name: TIDINGS_URL
          value: {{ required "Set url to the public address, such as https://tidings.example.com." .Values.url | quote }}
        {{- with .Values.trustedProxies }}
        - name: TRUSTED_PROXIES
          value: {{ . | quote }}
        {{- end }}
        {{- if .Values.postgres.enabled }}
        {{- $secret := required "Set postgres.existingSecret to a Secret with DATABASE_URL and TIDINGS_SECRET_KEY." .Values.postgres.existingSecret }}
        {{- if not (hasKey .Values.settings "TIDINGS_SHUTDOWN_DELAY") }}
        - name: TIDINGS_SHUTDOWN_DELAY
          value: "5"
        {{- end }}
        {{- range list "DATABASE_URL" "TIDINGS_SECRET_KEY" }}
        - name: {{ . }}
          valueFrom:
            secretKeyRef:
              name: {{ $secret }}
              key: {{ . }}
        {{- end }}
        {{- end }}
        {{- range $variable, $value := .Values.settings }}
        - name: {{ $variable }}
          value: {{ $value | toString | quote }}
        {{- end }}
      {{- with .Values.settingsFromSecrets }}
      envFrom:
        {{- range . }}
        - secretRef:
            name: {{ . }}
        {{- end }}
      {{- end }}
      ports:
        - name: http
          containerPort: 4242
      livenessProbe:
        httpGet:
          path: /healthz
          port: http
        periodSeconds: 10
        timeoutSeconds: 3
        failureThreshold: 6
      readinessProbe:
        httpGet:
          path: /readyz
          port: http
        periodSeconds: 5
        timeoutSeconds: 3
        failureThreshold: 2
      resources:
        {{- toYaml .Values.resources | nindent 8 }}
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities:
          drop: [ALL]
      volumeMounts:
        - name: {{ ternary "scratch" "data" .Values.postgres.enabled }}
          mountPath: /data
  {{- if .Values.postgres.enabled }}
  volumes:
    - name: scratch
      emptyDir:
        sizeLimit: 64Mi
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
{{- end }}
