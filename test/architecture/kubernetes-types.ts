import { join } from 'node:path';
import ts from 'typescript';
import type { KubernetesObject } from '../../scripts/chart/render-objects.mjs';

/** Packages with the types of an API group; groups of Kubernetes itself are in the last. */
const PACKAGES: [group: RegExp, name: string][] = [
  [/^gateway\.networking\.k8s\.io\//, '@kubernetes-models/gateway-api'],
  [/^cert-manager\.io\//, '@kubernetes-models/cert-manager'],
  [/^external-secrets\.io\//, '@kubernetes-models/external-secrets'],
  [/^keda\.sh\//, '@kubernetes-models/keda'],
  [/^monitoring\.coreos\.com\//, '@kubernetes-models/prometheus-operator'],
  [/./, 'kubernetes-models'],
];

const FILE = join(process.cwd(), 'test/architecture/objects-of-kubernetes.ts');

/**
 * Returns the complaints of the compiler about objects as literals of the API's own types: unknown fields, missing ones, wrong types.
 * One run for all objects, because loading the types takes most of the time.
 */
export function typeErrors(objects: KubernetesObject[]): string[] {
  const source = objects
    .map((object, index) => {
      const { apiVersion, kind } = object;
      const [, name] = PACKAGES.find(([group]) => group.test(apiVersion)) ?? [];
      return `import type { I${kind} as T${index} } from '${name}/${apiVersion}';\nexport const o${index}: T${index} = ${JSON.stringify(object, null, 1)};\n`;
    })
    .join('');
  const options: ts.CompilerOptions = {
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.ESNext,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
    types: [],
  };
  const host = ts.createCompilerHost(options);
  const { getSourceFile, fileExists } = host;
  host.fileExists = (path) => path === FILE || fileExists(path);
  host.getSourceFile = (path, languageVersion, ...rest) =>
    path === FILE ? ts.createSourceFile(path, source, languageVersion, true) : getSourceFile(path, languageVersion, ...rest);
  return ts.getPreEmitDiagnostics(ts.createProgram([FILE], options, host)).map((diagnostic) => describe(diagnostic, objects));
}

/** `Deployment gateway: Object literal may only specify known properties, and 'x' does not exist in type 'IPodSpec'.` */
function describe({ file, start = 0, messageText }: ts.Diagnostic, objects: KubernetesObject[]): string {
  const before = file?.text.slice(0, start) ?? '';
  const object = objects[(before.match(/^import type /gm)?.length ?? 0) - 1];
  return `${object?.kind} ${object?.metadata.name}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`;
}
