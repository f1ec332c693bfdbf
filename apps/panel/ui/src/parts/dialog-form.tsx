import type { ReactNode } from 'react';
import { Button } from './button.js';
import { Dialog, DialogActions } from './dialog.js';
import styles from './dialog-form.module.css';
import { Failure } from './failure.js';

interface DialogFormProps {
  title: string;
  /** Text of the button that makes the change. */
  submit: string;
  /** The result of `useChange`. */
  change: { mutate: (input: undefined, options?: { onSuccess?: () => void }) => void; error: Error | null; isPending: boolean };
  /** Called when the change is made. */
  onDone?: () => void;
  onClose: () => void;
  /** True while the form cannot be sent as it is. */
  disabled?: boolean;
  /** Further buttons, before the others. */
  actions?: ReactNode;
  children: ReactNode;
}

/** A dialog with a form that makes one change: its fields, the failure of the change, and the buttons. */
export function DialogForm({ title, submit, change, onDone, onClose, disabled, actions, children }: DialogFormProps) {
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        className={styles.form}
        onSubmit={(event) => {
          event.preventDefault();
          change.mutate(undefined, { onSuccess: onDone });
        }}
      >
        {children}
        {change.error && <Failure error={change.error} />}
        <DialogActions>
          {actions}
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="primary" busy={change.isPending} disabled={disabled}>
            {submit}
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}
