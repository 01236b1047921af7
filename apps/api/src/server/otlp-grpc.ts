import type { IncomingMessage } from 'node:http';
import type { TrustedIssuer } from '../auth/trusted-issuer.ts';
import type { Config } from '../config.ts';
import type { ConnectionLimits } from '../http/messages/limits.ts';
import { createCallers } from '../http/rate-limits/callers.ts';
import type { RequestLimits } from '../http/rate-limits/limits.ts';
import type { Services } from '../platform/services.ts';
import { grpcReceiver } from '../telemetry/ingest/grpc-receiver.ts';
import { startGrpcServer } from '../telemetry/ingest/grpc-server.ts';
import type { Intake } from '../telemetry/ingest/intake.ts';
import { clientAddress, trustIn } from './client-address.ts';
import { noteRefusal } from './note-refusal.ts';

type Options = {
  services: Services;
  trustedIssuer: TrustedIssuer;
  intake: Intake;
  config: Pick<Config, 'host' | 'otlpGrpcPort' | 'trustedProxies'>;
  connectionLimits: ConnectionLimits;
  /** Null: no rate limits. */
  limits: RequestLimits | null;
};

/** The running OTLP/gRPC server. */
export type OtlpGrpc = { url: string; stop: () => Promise<void> };

/** Serves OTLP/gRPC on a separate port. Null if it is switched off, or its port is taken. */
export async function startOtlpGrpc(options: Options): Promise<OtlpGrpc | null> {
  const { services, trustedIssuer, intake, config, connectionLimits, limits } = options;
  if (config.otlpGrpcPort === null) return null;
  const isProxy = trustIn(config.trustedProxies);
  const addressOf = (req: IncomingMessage) => clientAddress(req, isProxy);
  const handle = grpcReceiver({
    services,
    intake,
    callers: createCallers({ ...services, ...trustedIssuer }, limits, addressOf),
    addressOf,
    onRefused: (error, answer, info) => noteRefusal(services, { error, answer, info }),
  });
  return startGrpcServer({
    host: config.host,
    port: config.otlpGrpcPort,
    limits: connectionLimits,
    handle,
    isProxy,
    onRefusedConnection: (reason) => services.metrics.refusedConnections.inc({ reason }),
    log: services.log,
  });
}
