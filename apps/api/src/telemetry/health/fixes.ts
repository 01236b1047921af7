import type { TelemetryProblemReason } from '@quartermaster/contracts/telemetry-health.ts';
import type { StoredKeyTelemetry } from '@quartermaster/db/repositories/account-telemetry.ts';

const FIXES: Record<TelemetryProblemReason, string> = {
  credentials_invalid:
    'Create or rotate the key, or enable its account, and put the new key into the headers of the exporter.',
  key_secret_wrong:
    'Copy the whole key into the headers of the exporter, without quotation marks or spaces. If it is lost, rotate it. If no agent of yours uses this key, someone else tried its id: the server log has the address.',
  scope_missing: 'Create a key with the scope traces:write, and put it into the headers of the exporter.',
  ingest_tenant_ambiguous: 'Send with the key of a service account, which belongs to exactly one tenant.',
  rate_limited:
    'Send larger batches less often: raise OTEL_BSP_SCHEDULE_DELAY and OTEL_BSP_MAX_EXPORT_BATCH_SIZE. Exporters send the refused ones again by themselves.',
  tenant_limit_reached:
    'A platform administrator can raise the limit of the tenant, or its owner can shorten how long traces are kept.',
  body_too_large:
    'Send smaller batches: lower OTEL_BSP_MAX_EXPORT_BATCH_SIZE. An operator can raise QM_OTLP_MAX_BYTES.',
  media_type_unsupported:
    'Set OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf, and OTEL_EXPORTER_OTLP_COMPRESSION=gzip or none. Collectors may also use deflate or zstd.',
  request_malformed:
    'The detail says what is wrong with the body. If it names a compression, Content-Encoding and the body do not match, or a proxy changed the body. Else send OTLP as protobuf or JSON: set OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf. Port 4317 takes gRPC, and the port of this address HTTP.',
  server_failed: 'Nothing on the side of the sender: the server log has the cause. Exporters send again by themselves.',
  records_rejected: 'The detail says which limit the records were over. The other records of the request were stored.',
  metrics_dropped:
    'Nothing, if the agent also sends traces or logs: calls and tokens are read from these. Set OTEL_METRICS_EXPORTER=none to save the traffic.',
  other: 'The detail says what was wrong with the request.',
};

export function fixOfProblem(reason: TelemetryProblemReason): string {
  return FIXES[reason];
}

/** What to do about a key of which nothing was understood. Null if something was, or if nothing was received. */
export function fixOfKey({ understood, notUnderstood }: StoredKeyTelemetry): string | null {
  if (understood > 0 || notUnderstood === 0) return null;
  return 'No span or log record names a model, tool or agent. Turn on the GenAI telemetry of the framework, as docs/frameworks.md says for each. If only instrumentations of HTTP or databases are listed, the instrumentation of the agent is missing.';
}
