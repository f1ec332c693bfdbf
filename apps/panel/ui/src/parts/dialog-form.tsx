import type { ReactNode } from 'react';
import { Button } from './button.js';
import { Dialog, DialogActions } from './dialog.js';
import { Form, type FormProps } from './form.js';

interface DialogFormProps extends FormProps {
  title: string;
  onClose: () => void;
  /** Further buttons, before the others. */
  actions?: ReactNode;
}

/** A dialog with a form. */
export function DialogForm({ title, onClose, actions, ...form }: DialogFormProps) {
  const placeButton = (button: ReactNode) => (
    <DialogActions>
      {actions}
      <Button onClick={onClose}>Cancel</Button>
      {button}
    </DialogActions>
  );
  return (
    <Dialog title={title} onClose={onClose}>
      <Form {...form} placeButton={placeButton} />
    </Dialog>
  );
}
