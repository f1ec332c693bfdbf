import type { ReactNode } from 'react';
import { modelMatcher } from '#contracts/rules/model-pattern.js';
import type { CreatedKey } from '../../../../src/shapes/billing.js';
import type { ModelListReply } from '../../../../src/shapes/catalog.js';
import { useApi } from '../../data/api.js';
import { useSession } from '../../data/session.js';
import { CallLines, CopyLine } from '../../parts/copy-line.js';
import { DoneDialog } from '../../parts/dialog.js';

interface ShownOnceProps {
  title?: string;
  created: Pick<CreatedKey, 'key' | 'models'>;
  /** Notes below the key. */
  children?: ReactNode;
  onClose: () => void;
}

/** A new key, shown once, with calls that work. */
export function ShownOnce({ title = 'Your new key', created, children, onClose }: ShownOnceProps) {
  const { me } = useSession();
  const models = useApi<ModelListReply>('/models');
  const allows = (id: string) => created.models.length === 0 || created.models.some((pattern) => modelMatcher(pattern)(id));
  const model = models.data?.models.find(({ id }) => allows(id))?.id ?? 'model';
  return (
    <DoneDialog title={title} onClose={onClose}>
      {(onCopied) => (
        <>
          <p>Copy it now. The panel cannot show it again.</p>
          <CopyLine text={created.key} label="Copy the key" wrap onCopied={onCopied} />
          {children}
          {/* A call without a model that exists would not work. */}
          <CallLines call={models.isPending ? undefined : { url: me.gatewayUrl, key: created.key, model }} onCopied={onCopied} />
        </>
      )}
    </DoneDialog>
  );
}
