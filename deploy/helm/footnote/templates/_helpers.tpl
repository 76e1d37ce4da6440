{{/* "true" where several pods share everything; empty where one pod has it. */}}
{{- define "footnote.several" -}}
{{- if or (gt (int .Values.replicas) 1) (gt (int .Values.workers) 0) -}}
{{- $objects := required "objects: several pods share originals and indexes, at a place such as s3://BUCKET/PREFIX" .Values.objects -}}
{{- $secret := required "environmentSecretName: several pods share a ledger, so a Secret with DATABASE_URL is required" .Values.environmentSecretName -}}
true
{{- end -}}
{{- end -}}

{{/* Environment that all pods have in common. */}}
{{- define "footnote.environment" -}}
- name: FOOTNOTE_SHUTDOWN_SECONDS
  value: {{ .Values.shutdownSeconds | quote }}
{{- with .Values.objects }}
- name: FOOTNOTE_OBJECTS
  value: {{ . | quote }}
- name: FOOTNOTE_VECTOR_STORE
  value: lance-objects
{{- end }}
{{- range $name, $value := .Values.settings }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- end -}}
