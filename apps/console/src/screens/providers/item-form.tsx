import { createInventoryItem, type InventoryItem, type Provider } from '@quartermaster/client';
import { Select, Textarea, TextInput } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { FormDialog } from '../../components/form-dialog.tsx';
import { useAction } from '../../components/use-action.ts';
import { useFormHeaders } from '../../data/form-headers.ts';

const KINDS = ['model', 'tool', 'resource', 'prompt', 'agent', 'channel'];

/** Declares something that a provider offers. */
export function ItemForm({ provider, close }: { provider: Provider; close: () => void }): ReactNode {
  const [kind, setKind] = useState<InventoryItem['kind']>(provider.kind === 'llm' ? 'model' : 'tool');
  const [name, setName] = useState('');
  const [description, setDescription] = useState('');
  const headersOf = useFormHeaders();
  const save = useAction({
    run: () => {
      const path = { provider_id: provider.id };
      const body = { kind, name, description: description || null };
      return createInventoryItem({ path, body, headers: headersOf(body), throwOnError: true });
    },
    inForm: true,
    done: () => `${name} was declared.`,
    onDone: close,
  });
  return (
    <FormDialog
      title={`Declare an item of ${provider.displayName ?? provider.name}`}
      submit="Declare"
      close={close}
      save={save}
      incomplete={name === ''}
    >
      <Select
        label="Kind"
        data={KINDS}
        value={kind}
        allowDeselect={false}
        onChange={(value) => value !== null && setKind(value as InventoryItem['kind'])}
      />
      <TextInput
        label="Name"
        required
        data-autofocus
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
      />
      <Textarea
        label="Description"
        value={description}
        onChange={(event) => setDescription(event.currentTarget.value)}
      />
    </FormDialog>
  );
}
