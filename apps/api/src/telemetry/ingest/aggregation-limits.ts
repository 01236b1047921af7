import type { AggregationLimits } from '../../governance/observations/aggregate.ts';
import type { Services } from '../../platform/services.ts';

type ServiceLimits = Pick<Services, 'maxObservations' | 'tenantLimits' | 'maxUsageSeries'>;

/** The limits of aggregation: those of the service, and the tenant's own setting. */
export function aggregationLimits(
  { maxObservations, tenantLimits, maxUsageSeries }: ServiceLimits,
  { usageRetentionDays }: Pick<AggregationLimits, 'usageRetentionDays'>,
): AggregationLimits {
  return { observations: maxObservations, tenantLimits, usageSeries: maxUsageSeries, usageRetentionDays };
}
