import { useChange } from '../data/use-api.js';
import { Button } from './button.js';
import { Dialog, DialogActions } from './dialog.js';
import { Failure } from './failure.js';

interface ConfirmProps {
  title: string;
  text: string;
  /** Text of the button that goes on. */
  action: string;
  /** Text of the button that does not. */
  keep?: string;
  path: string;
  onClose: () => void;
}

/** Asks before `DELETE path`. */
export function Confirm({ title, text, action, keep = 'Cancel', path, onClose }: ConfirmProps) {
  const deleting = useChange<unknown>(() => ({ method: 'DELETE', path }));
  return (
    <Dialog title={title} onClose={onClose}>
      <p>{text}</p>
      {deleting.error && <Failure error={deleting.error} />}
      <DialogActions>
        <Button onClick={onClose}>{keep}</Button>
        <Button look="danger" busy={deleting.isPending} onClick={() => deleting.mutate(undefined, { onSuccess: onClose })}>
          {action}
        </Button>
      </DialogActions>
    </Dialog>
  );
}
