import { createGateway, type Gateway, listManifests, type Manifest, updateGateway } from '@quartermaster/client';
import { MultiSelect, Select, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { FormDialog } from '../../components/form-dialog.tsx';
import { PLACE_LABELS, placeBody, PlaceFields } from '../../components/place-fields.tsx';
import { useAction } from '../../components/use-action.ts';
import { useFormHeaders } from '../../data/form-headers.ts';
import { providerLabel, useProviders } from '../../data/names.ts';
import { readAll } from '../../data/pages.ts';
import { useOnlyPlace } from '../../data/me.ts';
import { fieldErrorsOf } from '../../data/problem.ts';
import { useUrlState } from '../../data/url-state.ts';

const MAX_MANIFESTS = 500;

/** How long a session may last, in minutes. */
const MIN_MINUTES = 1;
const MAX_MINUTES = 24 * 60;

const LABELS = {
  ...PLACE_LABELS,
  name: 'Name',
  displayName: 'Display name',
  url: 'Address',
  providerIds: 'Providers',
};

/** Creates a gateway, or changes one. */
export function GatewayForm({ gateway, close }: { gateway?: Gateway; close: () => void }): ReactNode {
  const [{ tenant = '' }] = useUrlState();
  const navigate = useNavigate();
  const { list: providers } = useProviders();
  const [name, setName] = useState(gateway?.name ?? '');
  const [displayName, setDisplayName] = useState(gateway?.displayName ?? '');
  const [minutes, setMinutes] = useState(String((gateway?.sessionTtlSeconds ?? 3600) / 60));
  const [manifestId, setManifestId] = useState(gateway?.manifestId ?? null);
  const [url, setUrl] = useState(gateway?.url ?? '');
  const [status, setStatus] = useState(gateway?.status === 'disabled' ? 'disabled' : 'active');
  const [enforcement, setEnforcement] = useState<Gateway['enforcement']>(gateway?.enforcement ?? 'observe');
  // A person who creates a gateway here most likely wants agents to reach MCP servers through it.
  const [mcpProxy, setMcpProxy] = useState<Gateway['mcpProxy']>(gateway?.mcpProxy ?? 'on');
  const [providerIds, setProviderIds] = useState<string[]>(gateway?.providerIds ?? []);
  const only = useOnlyPlace();
  const [place, setPlace] = useState(only ?? { tenantId: tenant, subTenantId: '' });
  const tenantId = gateway?.tenantId ?? place.tenantId;
  const offered = providers.filter((each) => each.tenantId === tenantId && each.status !== 'deleted');
  const isLifetimeValid = Number(minutes) >= MIN_MINUTES && Number(minutes) <= MAX_MINUTES;
  const headersOf = useFormHeaders(gateway && `/v1/gateways/${gateway.id}`);
  const save = useAction({
    run: async () => {
      const body = {
        name,
        displayName: displayName || null,
        url: url || null,
        status: status as 'active' | 'disabled',
        providerIds,
        manifestId,
        sessionTtlSeconds: Math.round(Number(minutes) * 60),
        enforcement,
        mcpProxy,
      };
      if (gateway === undefined) {
        const input = { ...body, ...placeBody(place) };
        return (await createGateway({ body: input, headers: headersOf(input), throwOnError: true })).data;
      }
      const path = { gateway_id: gateway.id };
      return (await updateGateway({ path, body, headers: headersOf(body), throwOnError: true })).data;
    },
    inForm: true,
    done: () => `${name} was saved.`,
    onDone: ({ id }) => {
      close();
      if (gateway === undefined) void navigate({ to: '/gateways/$gatewayId', params: { gatewayId: id } });
    },
  });
  const errors = fieldErrorsOf(save.error);
  return (
    <FormDialog
      title={gateway === undefined ? 'Create a gateway' : `Change ${gateway.name}`}
      submit={gateway === undefined ? 'Create' : 'Save'}
      size={580}
      close={close}
      save={save}
      labels={LABELS}
      incomplete={name === '' || tenantId === '' || !isLifetimeValid}
    >
      {gateway === undefined && <PlaceFields place={place} change={setPlace} errors={errors} />}
      <div className="pair">
        <TextInput
          label="Name"
          required
          data-autofocus
          error={errors['name']}
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
        />
        <TextInput
          label="Display name"
          error={errors['displayName']}
          value={displayName}
          onChange={(event) => setDisplayName(event.currentTarget.value)}
        />
      </div>
      <TextInput
        label="Address"
        placeholder="https://"
        error={errors['url']}
        value={url}
        onChange={(event) => setUrl(event.currentTarget.value)}
      />
      <MultiSelect
        label="Providers"
        description="Sessions grant the available items of these."
        size="xs"
        searchable
        limit={200}
        data={offered.map((each) => ({ value: each.id, label: providerLabel(each, each.id) }))}
        error={errors['providerIds']}
        value={providerIds}
        onChange={setProviderIds}
      />
      <ManifestChoice tenantId={tenantId} current={manifestId} change={setManifestId} />
      <div className="pair">
        <TextInput
          label="Longest session, in minutes"
          description="From 1 to 1,440. A session may ask for less."
          inputMode="numeric"
          required
          error={isLifetimeValid ? null : 'Enter a number from 1 to 1,440.'}
          value={minutes}
          onChange={(event) => setMinutes(event.currentTarget.value)}
        />
        <Select
          label="Status"
          description="Disabled: its sessions end, and no new ones open."
          data={['active', 'disabled']}
          value={status}
          allowDeselect={false}
          onChange={(value) => setStatus(value ?? 'active')}
        />
      </div>
      <div className="pair">
        <Select
          label="Enforcement"
          description="Observe: everything is permitted, and what enforce would deny is counted."
          data={['observe', 'enforce']}
          value={enforcement}
          allowDeselect={false}
          onChange={(value) => setEnforcement(value === 'enforce' ? 'enforce' : 'observe')}
        />
        <Select
          label="MCP proxy"
          description="On: agents reach the MCP servers through this service."
          data={['on', 'off']}
          value={mcpProxy}
          allowDeselect={false}
          onChange={(value) => setMcpProxy(value === 'on' ? 'on' : 'off')}
        />
      </div>
      {gateway !== undefined && (
        <p className="dim">Open sessions keep what they grant. New sessions follow the change.</p>
      )}
    </FormDialog>
  );
}

type ManifestChoiceProps = {
  tenantId: string;
  current: string | null;
  change: (manifestId: string | null) => void;
};

function ManifestChoice({ tenantId, current, change }: ManifestChoiceProps): ReactNode {
  const { data = [] } = useQuery({
    queryKey: ['manifests-for-gateways', tenantId],
    queryFn: async ({ signal }) => {
      const { items } = await readAll(async (cursor) => {
        const filter = { tenant_id: tenantId, status: 'active' as const, limit: 100 };
        const query = { ...filter, ...(cursor !== undefined && { cursor }) };
        return (await listManifests({ query, signal, throwOnError: true })).data;
      }, MAX_MANIFESTS);
      return items;
    },
    enabled: tenantId !== '',
  });
  const choices = data.map((manifest) => ({ value: manifest.id, label: labelOf(manifest) }));
  const isListed = current === null || choices.some(({ value }) => value === current);
  return (
    <Select
      label="Manifest"
      description="Sessions grant only what this version allows. Without one, they grant all available items."
      placeholder={tenantId === '' ? 'Choose a tenant first' : 'No manifest'}
      data={isListed ? choices : [{ value: current, label: 'The version that it has now' }, ...choices]}
      value={current}
      onChange={change}
      clearable
      clearButtonProps={{ 'aria-label': 'Clear the manifest', tabIndex: -1 }}
      searchable
      limit={100}
      nothingFoundMessage="No such manifest"
    />
  );
}

function labelOf({ name, kind, version }: Manifest): string {
  return `${name} (${kind}, version ${version})`;
}
