import type { ReactNode } from 'react';
import type { CreatedKey } from '../../../../src/shapes/keys.js';
import type { ModelListReply } from '../../../../src/shapes/models.js';
import { useSession } from '../../data/session.js';
import { useApi } from '../../data/use-api.js';
import { CallLines } from '../../parts/call-lines.js';
import { CopyLine } from '../../parts/copy-line.js';
import { DoneDialog } from '../../parts/dialog.js';

/** A new key, shown once, with calls that work. `children`: what else there is to know. */
export function ShownOnce({ created, children, onClose }: { created: CreatedKey; children?: ReactNode; onClose: () => void }) {
  const { me } = useSession();
  const models = useApi<ModelListReply>('/models');
  const model = models.data?.models[0]?.id ?? 'model';
  return (
    <DoneDialog title="Your new key" onClose={onClose}>
      <p>Copy it now. The panel cannot show it again.</p>
      <CopyLine text={created.key} label="Copy the key" wrap />
      {children}
      {/* A call without a model that exists would not work. */}
      <CallLines call={models.isPending ? undefined : { url: me.gatewayUrl, key: created.key, model }} />
    </DoneDialog>
  );
}
