import { usePageFailure } from '../data/page-failure.js';
import { Failure } from '../parts/failure.js';
import { Entrance } from './entrance.js';

/** Stands in for a page that needs its first answer before it has a frame: says that it opens, and then what failed. */
export function Opening({ title }: { title: string }) {
  const failure = usePageFailure();
  return (
    <Entrance title={title} about={failure ? undefined : 'One moment…'} opening={!failure}>
      {failure && <Failure error={failure.error} onRetry={failure.retry} />}
    </Entrance>
  );
}
