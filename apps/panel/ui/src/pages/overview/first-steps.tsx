import { Link } from 'wouter';
import { useSession } from '../../data/session.js';
import { useNames } from '../../data/use-names.js';
import { Card } from '../../parts/card.js';
import { Icon } from '../../parts/icon.js';
import styles from './first-steps.module.css';

/** The way to the first request, for an account without requests in the chosen time. Has its height before it knows what is done. */
export function FirstSteps() {
  const { linkTo, may } = useSession();
  const { projects, keys } = useNames();
  if (!may('keys')) return null;
  const steps = [
    { name: 'Create a project', about: 'It has its own limits and keys.', page: 'projects', isDone: projects && projects.length > 0 },
    {
      name: 'Create a key',
      about: 'The panel shows a line that calls a model with it.',
      page: 'keys',
      isDone: keys?.some(({ status }) => status === 'active'),
    },
    { name: 'Send a request', about: 'From your program or the playground. It appears here at once.', page: 'playground', isDone: false },
  ];
  const next = steps.findIndex(({ isDone }) => isDone === false);
  return (
    <Card title="First steps">
      <ol className={styles.steps}>
        {steps.map(({ name, about, page, isDone }, at) => (
          <li key={name} data-done={isDone || undefined}>
            <span className={styles.number}>{isDone ? <Icon name="check" /> : at + 1}</span>
            <div>
              <h3>{at === next ? <Link to={linkTo(page)}>{name}</Link> : name}</h3>
              <p>{about}</p>
            </div>
          </li>
        ))}
      </ol>
    </Card>
  );
}
