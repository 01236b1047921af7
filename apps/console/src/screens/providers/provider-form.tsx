import { createProvider, type Provider, type ProviderHeader, updateProvider } from '@quartermaster/client';
import { Select, TagsInput, Textarea, TextInput } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { FormDialog } from '../../components/form-dialog.tsx';
import { formatInterval } from '../../components/format.ts';
import { PLACE_LABELS, placeBody, PlaceFields } from '../../components/place-fields.tsx';
import { useAction } from '../../components/use-action.ts';
import { useFormHeaders } from '../../data/form-headers.ts';
import { useOnlyPlace } from '../../data/me.ts';
import { fieldErrorsOf } from '../../data/problem.ts';
import { useUrlState } from '../../data/url-state.ts';
import { KNOWN_VENDORS } from './known-vendors.ts';

const KINDS = [
  { value: 'llm', label: 'Model vendor' },
  { value: 'mcp', label: 'MCP server' },
  { value: 'agent_runtime', label: 'Agent runtime' },
  { value: 'channel', label: 'Channel' },
  { value: 'other', label: 'Other' },
];

const NEW_ITEMS = [
  { value: 'review', label: 'wait for a decision' },
  { value: 'allow', label: 'are available at once' },
];

const MAX_ALIASES = 20;

/** The choices of the form, in seconds. */
const INTERVALS = [900, 3600, 6 * 3600, 24 * 3600, 7 * 24 * 3600];

const LABELS = {
  ...PLACE_LABELS,
  name: 'Name',
  aliases: 'Other names',
  baseUrl: 'Address',
  headers: 'Headers',
  displayName: 'Display name',
  description: 'Description',
};

/** Declares a provider, or changes one. */
export function ProviderForm({ provider, close }: { provider?: Provider; close: () => void }): ReactNode {
  const [{ tenant = '' }] = useUrlState();
  const navigate = useNavigate();
  const only = useOnlyPlace();
  const [place, setPlace] = useState(only ?? { tenantId: tenant, subTenantId: '' });
  const [values, setValues] = useState({
    name: provider?.name ?? '',
    displayName: provider?.displayName ?? '',
    description: provider?.description ?? '',
    kind: provider?.kind ?? 'mcp',
    baseUrl: provider?.baseUrl ?? '',
    aliases: provider?.aliases ?? [],
    syncIntervalSeconds: provider?.syncIntervalSeconds ?? null,
    newItems: provider?.newItems ?? 'review',
    headers: headerLines(provider?.headers ?? []),
  });
  const set = (changes: Partial<typeof values>) => setValues((before) => ({ ...before, ...changes }));
  const body = {
    name: values.name,
    kind: values.kind,
    displayName: values.displayName || null,
    description: values.description || null,
    baseUrl: values.baseUrl || null,
    aliases: values.aliases,
    syncIntervalSeconds: values.syncIntervalSeconds,
    newItems: values.newItems,
    headers: headersIn(values.headers),
  };
  const headersOf = useFormHeaders(provider && `/v1/providers/${provider.id}`);
  const save = useAction({
    run: async () => {
      if (provider === undefined) {
        const input = { ...body, ...placeBody(place) };
        return (await createProvider({ body: input, headers: headersOf(input), throwOnError: true })).data;
      }
      const path = { provider_id: provider.id };
      return (await updateProvider({ path, body, headers: headersOf(body), throwOnError: true })).data;
    },
    inForm: true,
    done: ({ name }) => `${name} was saved.`,
    onDone: ({ id }) => {
      close();
      if (provider === undefined) void navigate({ to: '/providers/$providerId', params: { providerId: id } });
    },
  });
  const errors = fieldErrorsOf(save.error);
  return (
    <FormDialog
      title={provider === undefined ? 'Declare a provider' : `Change ${provider.name}`}
      submit={provider === undefined ? 'Declare' : 'Save'}
      close={close}
      save={save}
      labels={LABELS}
      incomplete={values.name === '' || (provider === undefined && place.tenantId === '')}
    >
      {provider === undefined && (
        <Select
          label="Known vendor"
          description="Fills in the name, the address and the headers of a model vendor."
          placeholder="another provider"
          data={KNOWN_VENDORS.map(({ label }) => label)}
          clearable
          onChange={(chosen) => {
            const vendor = KNOWN_VENDORS.find(({ label }) => label === chosen);
            if (vendor === undefined) return;
            const { name, baseUrl, headers } = vendor;
            set({ name, baseUrl, kind: 'llm', headers: headerLines(headers) });
          }}
        />
      )}
      <TextInput
        label="Name"
        description="What agents and manifests call it."
        required
        data-autofocus
        error={errors['name']}
        value={values.name}
        onChange={(event) => set({ name: event.currentTarget.value })}
      />
      <TagsInput
        label="Other names"
        description="What else telemetry and manifests call it. Enter adds a name."
        maxTags={MAX_ALIASES}
        splitChars={[]}
        error={errors['aliases']}
        value={values.aliases}
        onChange={(aliases) => set({ aliases })}
      />
      <Select
        label="Kind"
        data={KINDS}
        allowDeselect={false}
        value={values.kind}
        onChange={(kind) => kind !== null && set({ kind: kind as Provider['kind'] })}
      />
      <TextInput
        label="Address"
        description="Where a sync asks what it offers."
        placeholder="https://"
        error={errors['baseUrl']}
        value={values.baseUrl}
        onChange={(event) => set({ baseUrl: event.currentTarget.value })}
      />
      <Textarea
        label="Headers"
        description="What a sync sends beside the credential: one name: value on each line. Secret ones are set with the credential."
        placeholder="anthropic-version: 2023-06-01"
        autosize
        minRows={1}
        error={errors['headers']}
        value={values.headers}
        onChange={(event) => set({ headers: event.currentTarget.value })}
      />
      <Select
        label="Sync"
        description="How often a sync asks it."
        data={intervalsWith(provider?.syncIntervalSeconds ?? null)}
        allowDeselect={false}
        value={String(values.syncIntervalSeconds ?? '')}
        onChange={(seconds) => set({ syncIntervalSeconds: seconds ? Number(seconds) : null })}
      />
      <Select
        label="New items"
        description="What it lists after its first sync."
        data={NEW_ITEMS}
        allowDeselect={false}
        value={values.newItems}
        onChange={(newItems) => newItems !== null && set({ newItems: newItems as Provider['newItems'] })}
      />
      <TextInput
        label="Display name"
        error={errors['displayName']}
        value={values.displayName}
        onChange={(event) => set({ displayName: event.currentTarget.value })}
      />
      <Textarea
        label="Description"
        autosize
        minRows={2}
        error={errors['description']}
        value={values.description}
        onChange={(event) => set({ description: event.currentTarget.value })}
      />
      {provider === undefined && <PlaceFields place={place} change={setPlace} errors={errors} />}
    </FormDialog>
  );
}

function headerLines(headers: readonly ProviderHeader[]): string {
  return headers.map(({ name, value }) => `${name}: ${value}`).join('\n');
}

function headersIn(lines: string): ProviderHeader[] {
  return lines.split('\n').flatMap((line) => {
    const [name = '', ...rest] = line.split(':');
    return line.trim() === '' ? [] : [{ name: name.trim(), value: rest.join(':').trim() }];
  });
}

/** The choices, and the interval that the provider has now. */
function intervalsWith(current: number | null) {
  const all = new Set(current === null ? INTERVALS : [...INTERVALS, current]);
  const choices = [...all]
    .toSorted((a, b) => a - b)
    .map((seconds) => {
      return { value: String(seconds), label: formatInterval(seconds) };
    });
  return [{ value: '', label: 'only on request' }, ...choices];
}
