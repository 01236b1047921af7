import { deletePrice, listPrices, type Price, setPrice, type Tenant } from '@quartermaster/client';
import { Checkbox, TextInput } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { DangerButton } from '../../components/danger-button.tsx';
import { FormDialog } from '../../components/form-dialog.tsx';
import { formatPrice, parseMicroUsd } from '../../components/format.ts';
import { Empty } from '../../components/states.tsx';
import { useAction } from '../../components/use-action.ts';
import { idempotencyKey } from '../../data/client.ts';
import { useFormHeaders } from '../../data/form-headers.ts';
import { useMe } from '../../data/me.ts';
import { usePagedList } from '../../data/pages.ts';
import { fieldErrorsOf } from '../../data/problem.ts';
import { useUrlState } from '../../data/url-state.ts';

const keyOf = ({ id }: Price) => id;

/** The prices that the tenant and the platform set in place of list prices. */
export function PricesTab({ tenant }: { tenant: Tenant }): ReactNode {
  const [state, setState] = useUrlState();
  const list = usePagedList({
    key: ['prices', tenant.id],
    read: async (cursor, signal) => {
      const query = { tenant_id: tenant.id, limit: 100, ...(cursor !== undefined && { cursor }) };
      return (await listPrices({ query, signal, throwOnError: true })).data;
    },
  });
  return (
    <>
      <DataTable
        label="Prices"
        list={list}
        columns={COLUMNS}
        keyOf={keyOf}
        active={state['row']}
        onActive={(row) => setState({ row })}
        empty={
          <Empty title="List prices alone">
            Costs are an estimate by list prices. Set a price for models that cost something else, or that the list does
            not have.
          </Empty>
        }
      />
      {state['new'] !== undefined && <PriceForm tenant={tenant} close={() => setState({ new: undefined })} />}
    </>
  );
}

function priceColumns(): Column<Price>[] {
  const amount = (key: string, header: string, of: (price: Price) => number | null): Column<Price> => ({
    key,
    header,
    width: '96px',
    isNumber: true,
    cell(price) {
      const value = of(price);
      return value === null ? <span className="dim">as input</span> : formatPrice(value);
    },
  });
  return [
    {
      key: 'pattern',
      header: 'Models',
      width: 'minmax(140px, 2fr)',
      cell: ({ modelPattern }) => <strong className="truncate">{modelPattern}</strong>,
    },
    { key: 'from', header: 'From', width: '96px', cell: ({ validFrom }) => validFrom },
    amount('input', 'Input', (price) => price.inputPrice),
    amount('output', 'Output', (price) => price.outputPrice),
    amount('read', 'From cache', (price) => price.cacheReadPrice),
    amount('write', 'To cache', (price) => price.cacheWritePrice),
    {
      key: 'owner',
      header: 'Set by',
      width: 'minmax(80px, 1fr)',
      cell: ({ tenantId }) => tenantId ?? <span className="dim">the platform</span>,
    },
    { key: 'actions', header: '', width: '80px', cell: (price) => <DeleteButton price={price} /> },
  ];
}

const COLUMNS = priceColumns();

function DeleteButton({ price }: { price: Price }): ReactNode {
  const { platformAdministrator } = useMe();
  const { id, modelPattern, tenantId } = price;
  const remove = useAction({
    run: () => deletePrice({ path: { price_id: id }, headers: idempotencyKey(), throwOnError: true }),
    done: () => `The price of ${modelPattern} was deleted.`,
  });
  const isForbidden = tenantId === null && !platformAdministrator;
  return (
    <DangerButton
      scope="tenants:write"
      place={price}
      size="compact-xs"
      disabledReason={isForbidden ? 'Only platform administrators set prices for all tenants.' : null}
      title={`Delete the price of ${modelPattern}?`}
      consequence={`Costs are computed anew without it, also of the past${tenantId === null ? ', in every tenant' : ''}.`}
      confirm="Delete the price"
      action={remove}
    >
      Delete
    </DangerButton>
  );
}

const AMOUNTS = {
  inputPrice: 'Input, $ for a million tokens',
  outputPrice: 'Output, $ for a million tokens',
  cacheReadPrice: 'Input read from a cache (empty: as input)',
  cacheWritePrice: 'Input written to a cache (empty: as input)',
} as const;
type Amount = keyof typeof AMOUNTS;

const LABELS = { modelPattern: 'Models', validFrom: 'From this day on', ...AMOUNTS };

function PriceForm({ tenant, close }: { tenant: Tenant; close: () => void }): ReactNode {
  const { platformAdministrator } = useMe();
  const [modelPattern, setPattern] = useState('');
  const [validFrom, setFrom] = useState(() => new Date().toISOString().slice(0, 10));
  const [isForAll, setForAll] = useState(false);
  const [texts, setTexts] = useState<Record<Amount, string>>({
    inputPrice: '',
    outputPrice: '',
    cacheReadPrice: '',
    cacheWritePrice: '',
  });
  const amounts = Object.entries(texts).map(([name, text]) => [name, parseMicroUsd(text)] as const);
  const isOptional = (name: string) => name.startsWith('cache') && texts[name as Amount] === '';
  const headersOf = useFormHeaders();
  const save = useAction({
    run: () => {
      const owner = isForAll ? { owner: 'platform' as const } : { tenantId: tenant.id };
      const prices = Object.fromEntries(amounts) as Record<Amount, number | null>;
      const { inputPrice, outputPrice } = prices;
      const body = {
        ...owner,
        modelPattern,
        validFrom,
        ...prices,
        inputPrice: inputPrice ?? 0,
        outputPrice: outputPrice ?? 0,
      };
      return setPrice({ body, headers: headersOf(body), throwOnError: true });
    },
    inForm: true,
    done: () => `The price of ${modelPattern} is set.`,
    onDone: close,
  });
  const errors = fieldErrorsOf(save.error);
  return (
    <FormDialog
      title="Set a price"
      submit="Set the price"
      close={close}
      save={save}
      labels={LABELS}
      incomplete={modelPattern === '' || amounts.some(([name, value]) => value === null && !isOptional(name))}
    >
      <TextInput
        label="Models"
        description="A name, in which * stands for any characters: gpt-5*"
        required
        data-autofocus
        error={errors['modelPattern']}
        value={modelPattern}
        onChange={(event) => setPattern(event.currentTarget.value)}
      />
      <TextInput
        label="From this day on (UTC)"
        type="date"
        required
        error={errors['validFrom']}
        value={validFrom}
        onChange={(event) => setFrom(event.currentTarget.value)}
      />
      {Object.entries(AMOUNTS).map(([name, label]) => {
        const text = texts[name as Amount];
        return (
          <TextInput
            key={name}
            label={label}
            inputMode="decimal"
            required={!name.startsWith('cache')}
            error={text !== '' && parseMicroUsd(text) === null ? 'Dollars, such as 1.25' : errors[name]}
            value={text}
            onChange={(event) => {
              const { value } = event.currentTarget;
              setTexts((before) => ({ ...before, [name]: value }));
            }}
          />
        );
      })}
      {platformAdministrator && (
        <Checkbox
          label="For all tenants"
          checked={isForAll}
          onChange={(event) => setForAll(event.currentTarget.checked)}
        />
      )}
    </FormDialog>
  );
}
