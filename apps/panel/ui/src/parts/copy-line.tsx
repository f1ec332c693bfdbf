import { useState } from 'react';
import { IconButton } from './button.js';
import { classNames } from './class-names.js';
import styles from './copy-line.module.css';

/** Code with a button that copies it. Lines wrap nowhere; the box scrolls. */
export function CopyLine({ text, label = 'Copy', wrap }: { text: string; label?: string; wrap?: boolean }) {
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
        onClick={() => void navigator.clipboard.writeText(text).then(() => setCopied(true))}
        onBlur={() => setCopied(false)}
      />
    </div>
  );
}
