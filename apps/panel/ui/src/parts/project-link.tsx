import { Link } from 'wouter';
import { useSession } from '../data/session.js';
import styles from './project-link.module.css';

/** The name of a project, which leads to its page. `accountId`: its account. Default: that of the page. */
export function ProjectLink({ projectId, name, accountId }: { projectId: string; name: string; accountId?: string }) {
  const { linkTo } = useSession();
  return (
    <Link to={linkTo(`projects/${projectId}`, accountId)} className={styles.link}>
      {name}
    </Link>
  );
}
