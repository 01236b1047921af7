import { Client, credentials, Metadata, type ServiceError } from '@grpc/grpc-js';
import protobuf from 'protobufjs';
import type { TestServer } from '../support/server.ts';

export const PREFIX = '/opentelemetry.proto.collector';
export const EXPORT_TRACES = `${PREFIX}.trace.v1.TraceService/Export`;
export const EXPORT_LOGS = `${PREFIX}.logs.v1.LogsService/Export`;
export const EXPORT_METRICS = `${PREFIX}.metrics.v1.MetricsService/Export`;

function addressOf({ grpcUrl }: Pick<TestServer, 'grpcUrl'>): string {
  if (grpcUrl === null) throw new Error('OTLP/gRPC is off');
  return grpcUrl.slice('http://'.length);
}

export function keyMetadata(key: string): Metadata {
  const metadata = new Metadata();
  metadata.set('x-api-key', key);
  return metadata;
}

export type Called = { bytes: Buffer } | { error: ServiceError };

type Sent = { metadata: Metadata; compression?: number };

/** Makes a unary call with encoded messages. `compression` 2 is gzip. */
export function callGrpc(
  at: Pick<TestServer, 'grpcUrl'>,
  method: string,
  message: Uint8Array,
  { metadata, compression = 0 }: Sent,
): Promise<Called> {
  const client = new Client(addressOf(at), credentials.createInsecure(), {
    'grpc.default_compression_algorithm': compression,
    'grpc.enable_retries': 0,
    'grpc.max_send_message_length': -1,
  });
  return new Promise((resolve) => {
    const whole = (bytes: Uint8Array) => Buffer.from(bytes);
    client.makeUnaryRequest(method, whole, whole, message, metadata, (error, bytes) => {
      client.close();
      resolve(error === null ? { bytes: bytes ?? Buffer.alloc(0) } : { error });
    });
  });
}

/** The error of a call that has to fail. */
export function errorOf(called: Called): ServiceError {
  if ('bytes' in called) throw new Error('the call succeeded');
  return called.error;
}

/** The seconds of the RetryInfo in a status, or null. */
export function retryAfterOf({ metadata }: ServiceError): number | null {
  const [details] = metadata.get('grpc-status-details-bin');
  const decoded = STATUS.toObject(STATUS.decode(details as Buffer)) as { details?: { value: Uint8Array }[] };
  const [any] = decoded.details ?? [];
  if (any === undefined) return null;
  const info = RETRY_INFO.toObject(RETRY_INFO.decode(any.value), { longs: Number }) as { delay: { seconds: number } };
  return info.delay.seconds;
}

const { root } = protobuf.parse(`
  syntax = "proto3";
  message Status { int32 code = 1; string message = 2; repeated Any details = 3; }
  message Any { string type_url = 1; bytes value = 2; }
  message RetryInfo { Duration delay = 1; }
  message Duration { int64 seconds = 1; int32 nanos = 2; }
`);
const STATUS = root.lookupType('Status');
const RETRY_INFO = root.lookupType('RetryInfo');
