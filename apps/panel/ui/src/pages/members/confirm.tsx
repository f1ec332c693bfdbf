import { useChange } from '../../app/use-api.js';
import { Button } from '../../parts/button.js';
import { Dialog, DialogActions } from '../../parts/dialog.js';
import { Failure } from '../../parts/failure.js';

/** Asks before `DELETE path`. */
export function Confirm({
  title,
  text,
  action,
  path,
  onClose,
}: {
  title: string;
  text: string;
  action: string;
  path: string;
  onClose: () => void;
}) {
  const deleting = useChange<unknown>(() => ({ method: 'DELETE', path }));
  return (
    <Dialog title={title} onClose={onClose}>
      <p>{text}</p>
      {deleting.error && <Failure error={deleting.error} />}
      <DialogActions>
        <Button onClick={onClose}>Cancel</Button>
        <Button look="danger" busy={deleting.isPending} onClick={() => deleting.mutate(undefined, { onSuccess: onClose })}>
          {action}
        </Button>
      </DialogActions>
    </Dialog>
  );
}
