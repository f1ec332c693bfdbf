import type { ApiKey } from '../../../../src/shapes/keys.js';
import { Confirm } from '../../parts/confirm.js';
import { keyTitle } from './key-words.js';

export function RevokeKey({ apiKey, onClose }: { apiKey: ApiKey; onClose: () => void }) {
  return (
    <Confirm
      title={`Revoke ${keyTitle(apiKey)}?`}
      text="Programs with this key get 401 within seconds, and its running requests are stopped and billed for what they received. A revoked key stays revoked."
      action="Revoke key"
      path={`/keys/${apiKey.keyId}`}
      onClose={onClose}
    />
  );
}
