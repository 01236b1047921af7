import type { GatewayTables } from './tables/gateways.ts';
import type { GovernanceTables } from './tables/governance.ts';
import type { IdentityTables } from './tables/identity.ts';
import type { RequestTables } from './tables/requests.ts';
import type { TelemetryTables } from './tables/telemetry.ts';
import type { TenantTables } from './tables/tenants.ts';

/** The columns of all tables, by area. */
export type Tables = TenantTables & IdentityTables & GovernanceTables & GatewayTables & TelemetryTables & RequestTables;
