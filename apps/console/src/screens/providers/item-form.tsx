import { createInventoryItem, type InventoryItem, type Provider } from '@quartermaster/client';
import { Select, Textarea, TextInput } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { FormDialog } from '../../components/form-dialog.tsx';
import { useAction } from '../../components/use-action.ts';
import { useFormHeaders } from '../../data/form-headers.ts';
import { fieldErrorsOf } from '../../data/problem.ts';
import type { UrlState } from '../../data/url-state.ts';

const KINDS = ['model', 'tool', 'resource', 'prompt', 'agent', 'channel'] as const;

const STATUSES = ['available', 'blocked'] as const;

type Status = (typeof STATUSES)[number];

const EFFECTS: Record<Status, string> = {
  available: 'Agents may use it.',
  blocked: 'Agents may not use it, and sessions that grant it end.',
};

const LABELS = { name: 'Name', description: 'Description' };

type Props = {
  provider: Provider;
  /** The kind, name and status that the address asks for. */
  given: UrlState;
  close: () => void;
};

/** Declares something that a provider offers, or blocks it before anything declares it. */
export function ItemForm({ provider, given, close }: Props): ReactNode {
  const usualKind = provider.kind === 'llm' ? 'model' : 'tool';
  const [kind, setKind] = useState<InventoryItem['kind']>(KINDS.find((one) => one === given['kind']) ?? usualKind);
  const [name, setName] = useState(given['name'] ?? '');
  const [status, setStatus] = useState<Status>(STATUSES.find((one) => one === given['status']) ?? 'available');
  const [description, setDescription] = useState('');
  const headersOf = useFormHeaders();
  const save = useAction({
    run: () => {
      const path = { provider_id: provider.id };
      const body = { kind, name, status, description: description || null };
      return createInventoryItem({ path, body, headers: headersOf(body), throwOnError: true });
    },
    inForm: true,
    done: () => (status === 'blocked' ? `${name} is blocked.` : `${name} was declared.`),
    onDone: close,
  });
  const errors = fieldErrorsOf(save.error);
  return (
    <FormDialog
      title={`Declare an item of ${provider.displayName ?? provider.name}`}
      submit="Declare"
      close={close}
      save={save}
      labels={LABELS}
      incomplete={name === ''}
    >
      <Select
        label="Kind"
        data={KINDS}
        value={kind}
        allowDeselect={false}
        onChange={(value) => value !== null && setKind(value)}
      />
      <TextInput
        label="Name"
        required
        data-autofocus
        error={errors['name']}
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
      />
      <Select
        label="Status"
        description={EFFECTS[status]}
        data={STATUSES}
        value={status}
        allowDeselect={false}
        onChange={(value) => value !== null && setStatus(value)}
      />
      <Textarea
        label="Description"
        error={errors['description']}
        value={description}
        onChange={(event) => setDescription(event.currentTarget.value)}
      />
    </FormDialog>
  );
}
