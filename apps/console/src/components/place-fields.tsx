import { Select, TextInput } from '@mantine/core';
import type { ReactNode } from 'react';
import { useTenants } from '../app/tenant-switcher.tsx';
import type { FieldErrors } from '../data/problem.ts';

export type PlaceInput = { tenantId: string; subTenantId: string };

/** The labels of the fields, by their names in a request. */
export const PLACE_LABELS = { tenantId: 'Tenant', subTenantId: 'Sub-tenant' };

type Props = { place: PlaceInput; change: (place: PlaceInput) => void; errors: FieldErrors };

/** Which tenant a new record belongs to. */
export function PlaceFields({ place, change, errors }: Props): ReactNode {
  const tenants = useTenants();
  return (
    <div className="pair">
      <Select
        label="Tenant"
        description="It cannot be changed later."
        required
        error={errors['tenantId']}
        searchable={tenants.length > 6}
        data={tenants.map(({ id, displayName }) => ({ value: id, label: displayName ?? id }))}
        value={place.tenantId === '' ? null : place.tenantId}
        onChange={(tenantId) => change({ ...place, tenantId: tenantId ?? '' })}
      />
      <TextInput
        label="Sub-tenant"
        description="Leave it empty for the tenant as a whole."
        error={errors['subTenantId']}
        value={place.subTenantId}
        onChange={(event) => change({ ...place, subTenantId: event.currentTarget.value })}
      />
    </div>
  );
}

/** For the body of a request. */
export function placeBody({ tenantId, subTenantId }: PlaceInput): { tenantId: string; subTenantId?: string } {
  return { tenantId, ...(subTenantId !== '' && { subTenantId }) };
}
