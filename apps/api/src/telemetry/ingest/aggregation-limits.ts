import type { AggregationLimits } from '../../governance/observations/aggregate.ts';
import type { Services } from '../../platform/services.ts';

type ServiceLimits = Pick<Services, 'tenantLimits' | 'telemetry'>;

/** The limits of aggregation: those of the service, and the tenant's own setting. */
export function aggregationLimits(
  { tenantLimits, telemetry: { maxObservations, maxUsageSeries } }: ServiceLimits,
  { usageRetentionDays }: Pick<AggregationLimits, 'usageRetentionDays'>,
): AggregationLimits {
  return { observations: maxObservations, tenantLimits, usageSeries: maxUsageSeries, usageRetentionDays };
}
