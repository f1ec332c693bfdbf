import { type ReactNode, useEffect, useId, useRef } from 'react';
import { Button, IconButton } from './button.js';
import styles from './dialog.module.css';

/** A modal dialog. The browser keeps the focus inside and returns it. Mount it to open it; `onClose` absent: it cannot be closed. */
export function Dialog({ title, children, onClose }: { title: string; children: ReactNode; onClose?: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useEffect(() => {
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
      onCancel={(event) => {
        event.preventDefault();
        onClose?.();
      }}
    >
      <header className={styles.head}>
        <h2 id={titleId}>{title}</h2>
        {onClose && <IconButton icon="close" label="Close" onClick={onClose} />}
      </header>
      <div className={styles.body}>{children}</div>
    </dialog>
  );
}

/** A dialog that shows what was made, once, with the button that ends it. */
export function DoneDialog({ children, ...frame }: { title: string; children: ReactNode; onClose: () => void }) {
  return (
    <Dialog {...frame}>
      {children}
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
