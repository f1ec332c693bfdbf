import { readdirSync, readFileSync } from 'node:fs';
import { parse, parseAllDocuments } from 'yaml';

/** The fields of a Kubernetes object that the tests read. Each kind has some of them. */
export interface Manifest {
  kind: string;
  metadata: { name: string };
  data?: Record<string, string>;
  spec: {
    template?: { metadata: { labels: Record<string, string> }; spec: PodSpec };
    ports?: { name: string; port: number; targetPort: string }[];
    clusterIP?: string;
    selector?: Record<string, string>;
  };
}

interface PodSpec {
  containers: Container[];
  securityContext: object;
  terminationGracePeriodSeconds?: number;
  enableServiceLinks: boolean;
}

export interface Container {
  name: string;
  image: string;
  command?: string[];
  args?: string[];
  ports?: { name: string; containerPort: number }[];
  env?: { name: string; value?: string; valueFrom?: object }[];
  envFrom?: { secretRef: { name: string } }[];
  resources?: { requests: { cpu: string; memory: string }; limits: { memory: string } };
  securityContext?: object;
  readinessProbe?: object;
  livenessProbe?: object;
  lifecycle?: { preStop: { exec: { command: string[] } } };
}

/** The manifests of the base, with the one process that stands for it, and the local overlay. */
export const manifests: Manifest[] = ['k8s/base', 'k8s/one-process', 'k8s/overlays/local'].flatMap(readManifests);

export const workloads = new Map(manifests.flatMap(listPods));

/** Workloads that run beside either layout where they are asked for. */
export const optionalWorkloads = new Map(readManifests('k8s/components/payments').flatMap(listPods));

function readManifests(folder: string): Manifest[] {
  return readdirSync(folder)
    .filter((name) => /\.yaml$/.test(name) && !/^(kustomization|secrets\.example)/.test(name))
    .flatMap((name) => parseAllDocuments(readFileSync(`${folder}/${name}`, 'utf8')).map((document) => document.toJS() as Manifest));
}

function listPods({ metadata, spec }: Manifest): [string, PodSpec][] {
  return spec?.template ? [[metadata.name, spec.template.spec]] : [];
}

/** The container that migrates before the services with tables. */
export const migration = (
  parse(readFileSync('k8s/migrate/migrate.yaml', 'utf8')) as { spec: { template: { spec: { initContainers: [Container] } } } }
).spec.template.spec.initContainers[0];
