import { type ReactNode, useEffect, useId, useLayoutEffect, useRef, useState } from 'react';
import { useChange } from '../data/api.js';
import { Button, IconButton } from './button.js';
import styles from './dialog.module.css';
import { ManagedNote } from './managed.js';
import { Failure } from './page.js';

interface DialogProps {
  title: string;
  children: ReactNode;
  /** Absent: it cannot be closed. */
  onClose?: () => void;
  /** Called on Escape. Absent: Escape closes the dialog. */
  onEscape?: () => void;
  /** Source of the tenants file that owns what the dialog changes. */
  managedBy?: string | undefined;
  /** A text of the dialog was copied by hand. */
  onCopy?: () => void;
}

/** A modal dialog. The browser keeps the focus inside and returns it. Mount it to open it. */
export function Dialog({ title, children, onClose, onEscape = onClose, managedBy, onCopy }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  // Before the dialog leaves the document: a browser returns the focus only from one that is in it.
  useLayoutEffect(() => {
    const element = dialog.current;
    if (!element?.open) element?.showModal();
    // The browser would choose the button that closes.
    element?.querySelector<HTMLElement>('form :is(input, select):not([readonly])')?.focus();
    return () => element?.close();
  }, []);
  return (
    <dialog
      ref={dialog}
      className={styles.dialog}
      aria-labelledby={titleId}
      onCopy={onCopy}
      // Browsers close on a second Escape, whatever the event `cancel` says.
      onKeyDown={(event) => {
        if (event.key === 'Escape') event.preventDefault();
        if (event.key === 'Escape' && !event.repeat) onEscape?.();
      }}
      onCancel={(event) => {
        event.preventDefault();
        onEscape?.();
      }}
    >
      <header className={styles.head}>
        <h2 id={titleId}>{title}</h2>
        {onClose && <IconButton icon="close" label="Close" onClick={onClose} />}
      </header>
      <div className={styles.body}>
        {managedBy !== undefined && <ManagedNote by={managedBy} />}
        {children}
      </div>
    </dialog>
  );
}

interface DoneDialogProps {
  title: string;
  /** `onCopied`: call it when what was made is copied. */
  children: (onCopied: () => void) => ReactNode;
  onClose: () => void;
}

/** A dialog that shows what was made, once, with the button that ends it. Escape ends it only after what was made is copied. */
export function DoneDialog({ children, ...frame }: DoneDialogProps) {
  const [isCopied, setCopied] = useState(false);
  const [isAsked, setAsked] = useState(false);
  const onCopied = () => setCopied(true);
  return (
    <Dialog {...frame} onEscape={isCopied ? frame.onClose : () => setAsked(true)} onCopy={onCopied}>
      {children(onCopied)}
      {isAsked && !isCopied && <p role="alert">Not copied yet, and not shown again. Copy it, or close with Done.</p>}
      <DialogActions>
        <Button look="primary" onClick={frame.onClose}>
          Done
        </Button>
      </DialogActions>
    </Dialog>
  );
}

/** The buttons at the end of a dialog, the main one last. */
export function DialogActions({ children }: { children: ReactNode }) {
  return <div className={styles.actions}>{children}</div>;
}

interface DialogFormProps extends FormProps {
  title: string;
  onClose: () => void;
  managedBy?: string | undefined;
  /** Further buttons, before the others. */
  actions?: ReactNode;
}

/** A dialog with a form. */
export function DialogForm({ title, onClose, managedBy, actions, ...form }: DialogFormProps) {
  const placeButton = (button: ReactNode) => (
    <DialogActions>
      {actions}
      <Button onClick={onClose}>Cancel</Button>
      {button}
    </DialogActions>
  );
  return (
    <Dialog title={title} onClose={onClose} managedBy={managedBy}>
      <Form {...form} placeButton={placeButton} />
    </Dialog>
  );
}

interface ConfirmProps {
  title: string;
  text: string;
  /** Text of the button that goes on. */
  action: string;
  /** Text of the button that does not. */
  keep?: string;
  path: string;
  managedBy?: string | undefined;
  onClose: () => void;
}

/** Asks before `DELETE path`. */
export function Confirm({ title, text, action, keep = 'Cancel', path, managedBy, onClose }: ConfirmProps) {
  const deleting = useChange<unknown>(() => ({ method: 'DELETE', path }));
  return (
    <Dialog title={title} onClose={onClose} managedBy={managedBy}>
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

/** The result of `useChange` or `useMutation`. */
interface FormChange {
  mutate: (input: undefined, options?: { onSuccess?: () => void }) => void;
  error: Error | null;
  isPending: boolean;
}

export interface FormProps {
  /** Text of the button that makes the change. */
  submit: string;
  change: FormChange;
  /** Called when the change is made. */
  onDone?: () => void;
  /** True while the form cannot be sent as it is. */
  disabled?: boolean;
  look?: 'primary' | 'secondary' | 'danger';
  /** Places the button that makes the change, beside others. */
  placeButton?: (button: ReactNode) => ReactNode;
  children: ReactNode;
}

/** A form that makes one change: its fields, the failure of the change, and its button. */
export function Form({ submit, change, onDone, disabled, look = 'primary', placeButton = (button) => button, children }: FormProps) {
  const form = useRef<HTMLFormElement>(null);
  // The button loses the focus while it takes no click.
  useEffect(() => {
    const isLost = document.activeElement === document.body || document.activeElement instanceof HTMLDialogElement;
    if (change.error && isLost) form.current?.querySelector<HTMLElement>('input[type="password"], [type="submit"]')?.focus();
  }, [change.error]);
  return (
    <form
      ref={form}
      className={styles.form}
      onSubmit={(event) => {
        event.preventDefault();
        change.mutate(undefined, { onSuccess: onDone });
      }}
    >
      {children}
      {change.error && <Failure error={change.error} />}
      {placeButton(
        <Button type="submit" look={look} busy={change.isPending} disabled={disabled}>
          {submit}
        </Button>,
      )}
    </form>
  );
}
