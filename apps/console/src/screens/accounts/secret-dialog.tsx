import { Button, Modal } from '@mantine/core';
import type { ReactNode } from 'react';
import { CopyBlock } from '../../components/copy.tsx';
import { useReturnFocus } from '../../components/use-return-focus.ts';

/** The only time that a key is shown. It closes by its button alone. */
export function SecretDialog({ secret, close }: { secret: string; close: () => void }): ReactNode {
  useReturnFocus();
  return (
    <Modal
      opened
      onClose={close}
      title="Copy the key now"
      size={560}
      closeOnClickOutside={false}
      closeOnEscape={false}
      withCloseButton={false}
    >
      <div className="stack">
        <p>It is shown this once. Quartermaster keeps only a digest of it.</p>
        <CopyBlock label="Key" text={secret} />
        <div>
          <Button onClick={close}>I have stored it</Button>
        </div>
      </div>
    </Modal>
  );
}
