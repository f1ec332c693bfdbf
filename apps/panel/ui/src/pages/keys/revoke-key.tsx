import type { ApiKey } from '../../../../src/api/shapes/keys.js';
import { useChange } from '../../app/use-api.js';
import { Button } from '../../parts/button.js';
import { Dialog, DialogActions } from '../../parts/dialog.js';
import { Failure } from '../../parts/failure.js';
import { keyTitle } from './key-words.js';

export function RevokeKey({ apiKey, onClose }: { apiKey: ApiKey; onClose: () => void }) {
  const revoking = useChange<ApiKey>(() => ({ method: 'DELETE', path: `/keys/${apiKey.keyId}` }));
  return (
    <Dialog title={`Revoke ${keyTitle(apiKey)}?`} onClose={onClose}>
      <p>
        Programs with this key get 401 within seconds, and its running requests are stopped and billed for what they received. A revoked key
        stays revoked.
      </p>
      {revoking.error && <Failure error={revoking.error} />}
      <DialogActions>
        <Button onClick={onClose}>Cancel</Button>
        <Button look="danger" busy={revoking.isPending} onClick={() => revoking.mutate(undefined, { onSuccess: onClose })}>
          Revoke key
        </Button>
      </DialogActions>
    </Dialog>
  );
}
