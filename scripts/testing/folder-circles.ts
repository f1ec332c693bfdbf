/** A module of dependency-cruiser. */
interface Module {
  source: string;
  dependencies: { resolved: string }[];
}

interface Arrow {
  from: string;
  to: string;
}

/**
 * Finds folders that import each other in a circle. An import counts between the two folders where the paths of its files part: from
 * `apps/billing/src/keys/keys.ts` to `apps/billing/src/limits/maxima.ts` between `keys` and `limits`. A file beside folders, such as a Nest
 * module, may import all of them and be imported.
 *
 * Returns one import `{ from, to }` for each arrow of a circle. `modules` are those of dependency-cruiser.
 */
export function findFolderCircles(modules: Module[], { path, pathNot }: { path: string; pathNot: string }): Arrow[] {
  const [wanted, unwanted] = [new RegExp(path), new RegExp(pathNot)];
  const counts = (file: string): boolean => wanted.test(file) && !unwanted.test(file);
  const arrows = new Map<string, Map<string, Arrow>>();
  for (const { source, dependencies } of modules.filter((module) => counts(module.source))) {
    for (const { resolved } of dependencies.filter((dependency) => counts(dependency.resolved))) {
      const folders = whereTheyPart(source, resolved);
      if (!folders) continue;
      const targets = arrows.get(folders.from) ?? new Map<string, Arrow>();
      arrows.set(folders.from, targets);
      if (!targets.has(folders.to)) targets.set(folders.to, { from: source, to: resolved });
    }
  }
  return [...arrows].flatMap(([from, targets]) => [...targets].filter(([to]) => reaches(arrows, to, from)).map(([, example]) => example));
}

/** Returns undefined when one of the files is directly in the folder that has both, and between `apps` and `libs`. */
function whereTheyPart(source: string, target: string): Arrow | undefined {
  const [from, to] = [source.split('/'), target.split('/')];
  const depth = from.findIndex((name, position) => name !== to[position]);
  if (depth < 1 || depth >= from.length - 1 || depth >= to.length - 1) return undefined;
  const upTo = (names: string[], length: number): string => names.slice(0, length).join('/');
  return { from: upTo(from, depth + 1), to: upTo(to, depth + 1) };
}

function reaches(arrows: Map<string, Map<string, Arrow>>, start: string, end: string): boolean {
  const seen = new Set([start]);
  for (const folder of seen) for (const next of arrows.get(folder)?.keys() ?? []) seen.add(next);
  return seen.has(end);
}
