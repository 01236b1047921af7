import { Button, Modal } from '@mantine/core';
import type { ReactNode } from 'react';
import { CopyBlock } from '../../components/copy.tsx';

/** The only time that a key is shown. It closes by its button alone. */
export function SecretDialog({ secret, close }: { secret: string; close: () => void }): ReactNode {
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
        <CopyBlock text={secret} />
        <div>
          <Button onClick={close}>I have stored it</Button>
        </div>
      </div>
    </Modal>
  );
}
