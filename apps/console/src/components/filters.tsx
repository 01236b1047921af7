import { Select, TextInput } from '@mantine/core';
import { memo, type ReactNode, useEffect, useState } from 'react';
import { useSetUrlState, useUrlParameter } from '../data/url-state.ts';
import { formatNumber } from './format.ts';
import { Icon } from './icons.tsx';

type Choice = string | { value: string; label: string };

/** How long a user pauses until what they typed is applied. */
export const TYPING_MS = 250;

type SelectFilterProps = {
  name: string;
  label: string;
  choices: readonly Choice[];
  width?: number;
  /** Of the list, if it is wider than the field. */
  listWidth?: number;
};

/** A filter that is a parameter of the address. It is memoised, so `choices` should be the same array each time. */
export const SelectFilter = memo(function SelectFilter({
  name,
  label,
  choices,
  width = 150,
  listWidth,
}: SelectFilterProps): ReactNode {
  const value = useUrlParameter(name);
  const setState = useSetUrlState();
  const data = choices.map((choice) =>
    typeof choice === 'string' ? { value: choice, label: choice.replaceAll('_', ' ') } : choice,
  );
  return (
    <Select
      aria-label={label}
      placeholder={label}
      w={width}
      data={data}
      value={value ?? null}
      onChange={(chosen) => setState({ [name]: chosen ?? undefined })}
      clearable
      clearButtonProps={{ 'aria-label': `Clear ${label}`, tabIndex: -1 }}
      searchable={data.length > 8}
      nothingFoundMessage="Nothing has this name"
      {...(listWidth !== undefined && { comboboxProps: { width: listWidth, position: 'bottom-start' } })}
      limit={200}
    />
  );
});

type TextFilterProps = { name: string; label: string; width?: number };

/** A text filter that is a parameter of the address. It is applied when the user pauses. */
export const TextFilter = memo(function TextFilter({ name, label, width = 200 }: TextFilterProps): ReactNode {
  const given = useUrlParameter(name) ?? '';
  const setState = useSetUrlState();
  const [typed, setTyped] = useState(given);
  const [applied, setApplied] = useState(given);
  // The address changed by itself: by the back button, or because another view was chosen.
  if (given !== applied) {
    setApplied(given);
    setTyped(given);
  }
  useEffect(() => {
    const text = withoutSecretOfKey(typed.trim());
    if (text === given) return;
    const timer = setTimeout(() => setState({ [name]: text }), TYPING_MS);
    return () => clearTimeout(timer);
  }, [typed, given, name, setState]);
  return (
    <TextInput
      aria-label={label}
      placeholder={label}
      w={width}
      value={typed}
      onChange={(event) => setTyped(event.currentTarget.value)}
      leftSection={<Icon name="search" size={14} />}
    />
  );
});

/** A leaked key is found by the part before its secret, and the secret must not stay in the address. */
export function withoutSecretOfKey(text: string): string {
  return text.replace(/\b(qm_key_[0-9a-z]{26})_\w+/, '$1');
}

type View = { value: string; label: string; count?: number | undefined };

/**
 * Views of one screen, as a row of links would be. The first is what an address without the parameter shows, and with a value
 * that is not one of them.
 */
export function Views({
  name = 'view',
  label,
  views,
  initial = views[0]?.value,
}: {
  name?: string;
  label: string;
  /** The view without one in the address. By default the first one. */
  initial?: string | undefined;
  views: readonly View[];
}): ReactNode {
  const setState = useSetUrlState();
  const chosen = useUrlParameter(name);
  const isUnknown = chosen !== undefined && views.every(({ value }) => value !== chosen);
  useEffect(() => {
    if (isUnknown) setState({ [name]: undefined });
  }, [isUnknown, name, setState]);
  const current = chosen ?? initial;
  return (
    <div role="group" aria-label={label} className="qm-views">
      {views.map(({ value, label: text, count }) => (
        <button
          key={value}
          type="button"
          aria-pressed={value === current}
          onClick={() => setState({ [name]: value === initial ? undefined : value, item: undefined }, { push: true })}
        >
          {text}
          {count !== undefined && <span className="num dim">{formatNumber(count)}</span>}
        </button>
      ))}
    </div>
  );
}
