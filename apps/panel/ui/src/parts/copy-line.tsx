import { useState } from 'react';
import { CALLS, type Call, type CallName } from '../data/calls.js';
import { IconButton } from './button.js';
import { classNames } from './class-names.js';
import styles from './copy-line.module.css';

interface CopyLineProps {
  text: string;
  label?: string;
  wrap?: boolean;
  onCopied?: () => void;
}

/** Code with a button that copies it. Lines wrap nowhere; the box scrolls. */
export function CopyLine({ text, label = 'Copy', wrap, onCopied }: CopyLineProps) {
  const [copied, setCopied] = useState(false);
  return (
    <div className={styles.line}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: keyboards scroll it. */}
      <pre className={classNames(styles.text, wrap && styles.wrap)} tabIndex={0}>
        <code>{text}</code>
      </pre>
      <IconButton
        icon={copied ? 'check' : 'copy'}
        label={copied ? 'Copied' : label}
        onClick={() => {
          void navigator.clipboard.writeText(text).then(() => {
            setCopied(true);
            onCopied?.();
          });
        }}
        onBlur={() => setCopied(false)}
      />
    </div>
  );
}

/** A call of a model for each program, in tabs. `call` is undefined while its model loads. */
export function CallLines({ call, onCopied }: { call: Call | undefined; onCopied?: () => void }) {
  const [shown, setShown] = useState<CallName>('curl');
  return (
    <>
      <div className={styles.tabs} role="tablist" aria-label="Programs">
        {(Object.keys(CALLS) as CallName[]).map((name) => (
          <button key={name} type="button" role="tab" aria-selected={name === shown} onClick={() => setShown(name)}>
            {CALLS[name].title}
          </button>
        ))}
      </div>
      {call && <CopyLine text={CALLS[shown].text(call)} label="Copy the call" {...(onCopied && { onCopied })} />}
    </>
  );
}
