import { type ReactNode, useState } from 'react';
import type { CreatedKey } from '../../../../src/api/shapes/keys.js';
import type { ModelListReply } from '../../../../src/api/shapes/models.js';
import { useSession } from '../../app/session.js';
import { useApi } from '../../app/use-api.js';
import { Button } from '../../parts/button.js';
import { CopyLine } from '../../parts/copy-line.js';
import { Dialog, DialogActions } from '../../parts/dialog.js';
import { CALLS, type CallName } from './calls.js';
import styles from './keys.module.css';

/** A new key, shown once, with calls that work. `children`: what else there is to know. */
export function ShownOnce({ created, children, onClose }: { created: CreatedKey; children?: ReactNode; onClose: () => void }) {
  const { me } = useSession();
  const [call, setCall] = useState<CallName>('curl');
  const models = useApi<ModelListReply>('/models');
  const model = models.data?.models[0]?.id ?? 'model';
  return (
    <Dialog title="Your new key" onClose={onClose}>
      <p>Copy it now. The panel cannot show it again.</p>
      <CopyLine text={created.key} label="Copy the key" wrap />
      {children}
      <div className={styles.tabs} role="tablist" aria-label="Programs">
        {(Object.keys(CALLS) as CallName[]).map((name) => (
          <button key={name} type="button" role="tab" aria-selected={name === call} onClick={() => setCall(name)}>
            {CALLS[name].title}
          </button>
        ))}
      </div>
      {/* A call without a model that exists would not work. */}
      {!models.isPending && <CopyLine text={CALLS[call].text({ url: me.gatewayUrl, key: created.key, model })} label="Copy the call" />}
      <DialogActions>
        <Button look="primary" onClick={onClose}>
          Done
        </Button>
      </DialogActions>
    </Dialog>
  );
}
