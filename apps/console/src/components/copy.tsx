import { ActionIcon, Button } from '@mantine/core';
import { useClipboard } from '@mantine/hooks';
import type { ReactNode } from 'react';
import { type ApiRequest, curlOf } from '../data/curl.ts';
import { Icon } from './icons.tsx';
import { showToast } from './toasts.tsx';

/** Text that is copied with one click: ids, keys, commands. */
export function CopyId({ id, shown = id }: { id: string; shown?: string }): ReactNode {
  const clipboard = useClipboard();
  return (
    <span className="row">
      <code className="truncate" title={id}>
        {shown}
      </code>
      <ActionIcon
        size={20}
        aria-label={`Copy ${id}`}
        onClick={(event) => {
          event.stopPropagation();
          clipboard.copy(id);
          showToast({ text: 'Copied.' });
        }}
      >
        <Icon name={clipboard.copied ? 'check' : 'copy'} size={13} />
      </ActionIcon>
    </span>
  );
}

/** @returns what copies a command that makes the same request */
export function useCopyCurl(): (request: ApiRequest) => void {
  const clipboard = useClipboard();
  return (request) => {
    clipboard.copy(curlOf(request));
    showToast({ text: 'Copied as curl. Set $QM to the address and $KEY to an API key.' });
  };
}

/** A small button that copies a command which makes the same request. */
export function CurlButton({ request }: { request: ApiRequest }): ReactNode {
  const copyCurl = useCopyCurl();
  return (
    <Button size="compact-xs" variant="subtle" color="gray" onClick={() => copyCurl(request)}>
      Copy as curl
    </Button>
  );
}

/** Lines to copy, such as a command for a terminal. */
export function CopyBlock({ label = 'Command', text }: { label?: string; text: string }): ReactNode {
  const clipboard = useClipboard();
  return (
    <div className="qm-copy-block">
      <pre tabIndex={0} aria-label={label}>
        {text}
      </pre>
      <ActionIcon aria-label="Copy" onClick={() => clipboard.copy(text)}>
        <Icon name={clipboard.copied ? 'check' : 'copy'} />
      </ActionIcon>
    </div>
  );
}
