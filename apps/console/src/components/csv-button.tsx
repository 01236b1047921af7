import type { Scope } from '@quartermaster/client';
import { type ReactNode, useState } from 'react';
import { type CsvSource, limitText, writeCsv } from '../data/csv.ts';
import { ActionButton } from './action-button.tsx';
import { formatNumber, plural } from './format.ts';
import { useAction } from './use-action.ts';

type Props<Row> = {
  /** The first word of the name of the file. */
  name: string;
  scope: Scope;
  source: CsvSource<Row>;
};

/** Saves everything that the filter of a list finds as a file, not only the rows that are shown. */
export function CsvButton<Row>({ name, scope, source }: Props<Row>): ReactNode {
  const [count, setCount] = useState(0);
  const save = useAction({
    run: async () => {
      setCount(0);
      // The browser keeps each part outside the memory of the page.
      const parts: Blob[] = [];
      const written = await writeCsv(source, (text, rows) => {
        parts.push(new Blob([text]));
        setCount(rows);
      });
      download(new Blob(parts, { type: 'text/csv' }), `${name}-${new Date().toISOString().slice(0, 10)}.csv`);
      return written;
    },
    done: (written) => (written.isComplete ? `Saved ${plural(written.count, 'row')}.` : limitText(written.count)),
  });
  return (
    <ActionButton
      scope={scope}
      variant="default"
      disabledReason={save.isPending ? 'The file is being written.' : null}
      onClick={() => save.mutate()}
    >
      {save.isPending ? `Saved ${formatNumber(count)}…` : 'Save as CSV'}
    </ActionButton>
  );
}

function download(file: Blob, name: string): void {
  const url = URL.createObjectURL(file);
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
}
