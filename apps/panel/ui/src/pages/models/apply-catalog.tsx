import type { CatalogDifferences } from '../../../../src/shapes/models.js';
import { Button } from '../../parts/button.js';
import { Dialog, DialogActions } from '../../parts/dialog.js';
import { changesText } from './differences.js';

/** Asks before a text becomes the catalog of every gateway. */
export function ApplyCatalog({
  changes,
  isApplying,
  onApply,
  onClose,
}: {
  changes: CatalogDifferences;
  isApplying: boolean;
  onApply: () => void;
  onClose: () => void;
}) {
  const { disabled } = changes.models;
  return (
    <Dialog title="Apply to every gateway?" onClose={onClose}>
      <p>{changesText(changes)}.</p>
      {disabled.length > 0 && <p>Requests to these models will be refused: {disabled.join(', ')}.</p>}
      <p>New requests have the change within a second. Requests that run keep the prices of their start.</p>
      <DialogActions>
        <Button onClick={onClose}>Cancel</Button>
        <Button look={disabled.length > 0 ? 'danger' : 'primary'} busy={isApplying} onClick={onApply}>
          Apply
        </Button>
      </DialogActions>
    </Dialog>
  );
}
