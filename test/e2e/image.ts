import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { findDebianTool } from '../../scripts/local/debian-tool.ts';
import type { Program } from '../../scripts/local/supervisor.ts';

/** Stands for apt-get, whose one package is in the base already. */
const APT_GET = '#!/bin/sh\ncase "$*" in update | "install --yes --no-install-recommends tini") ;; *) exit 1 ;; esac\n';
const CERTIFICATES = '/etc/ssl/certs/ca-certificates.crt';
const TOOLS = resolve('.local/tools');
const LIBRARIES = '/usr/lib/x86_64-linux-gnu';

/** Enters the image `$1` with a root that cannot be written and the user of a container, in a mount namespace of its own. */
const ENTER = `
mount --bind "$1" "$1"
mount -o remount,bind,ro "$1"
mount -t proc proc "$1/proc"
mount --rbind /dev "$1/dev"
root=$1
shift
exec chroot --userspec=1000:1000 "$root" sh -c 'cd /app && exec "$@"' sh "$@"`;

/** The image that buildah builds of the Dockerfile, unpacked. */
export interface Image {
  /** Returns the command that runs `program`, whose command is a command of the image. */
  entering<Command extends Pick<Program, 'command' | 'args'>>(program: Command): Command & { cwd: string };
  /** Runs a command in the image and returns its output. Throws with the error output if it fails. */
  run(command: string[], env?: Record<string, string>): string;
  remove(): void;
}

/** Returns why this machine cannot build the image; undefined if it can. */
export function whyNoImage(): string | undefined {
  if (process.getuid?.() !== 0) return 'mounts need root';
  if (process.arch !== 'x64' || !existsSync('/etc/debian_version')) return 'the base image is made of packages of Debian for amd64';
  if (spawnSync('unshare', ['--mount', 'true']).status !== 0) return 'this machine allows no mount namespaces';
  return undefined;
}

/** Builds the image on a base that is made here, so that no registry of images is needed. Takes some two minutes. */
export async function buildImage(): Promise<Image> {
  const folder = mkdtempSync(resolve('.local/image-'));
  const buildah = new Buildah(folder, await toolFolder('buildah'));
  await makeBase(join(folder, 'base'));
  const [, base = ''] = /^FROM (\S+) AS base$/m.exec(readFileSync('Dockerfile', 'utf8')) ?? [];
  const root = buildah.run(
    `set -e
container=$(buildah from scratch)
buildah copy --quiet "$container" ${join(folder, 'base')} / > /dev/null
buildah config --env PATH=/usr/local/bin:/usr/bin:/bin --env NODE_EXTRA_CA_CERTS=${CERTIFICATES} "$container"
buildah commit --quiet "$container" docker.io/library/${base} > /dev/null
buildah bud --pull-never --network host --tag tollgate:test . >&2
buildah mount "$(buildah from --pull-never tollgate:test)"`,
  );
  const words = '{{range .OCIv1.Config.Entrypoint}}{{.}} {{end}}';
  const first = buildah.run(`buildah inspect --type image --format '${words}' tollgate:test`).split(' ');
  const entering: Image['entering'] = (program) => ({
    ...program,
    ...{ command: 'unshare', args: ['--mount', 'sh', '-ec', ENTER, 'sh', root, ...first, program.command, ...program.args], cwd: '/' },
  });
  return {
    entering,
    run([command = '', ...rest], env = {}) {
      const { command: file, args, cwd } = entering({ command, args: rest, env, cwd: '/' });
      return runSync(file, args, { cwd, env: { PATH: process.env.PATH ?? '', ...env } });
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** Debian's buildah, with its images in a folder of their own. */
class Buildah {
  constructor(
    private readonly folder: string,
    private readonly tool: string | undefined,
  ) {
    writeFileSync(join(folder, 'policy.json'), '{"default":[{"type":"insecureAcceptAnything"}]}');
    writeFileSync(join(folder, 'registries.conf'), '');
  }

  /** Runs a script of buildah's commands. Returns the last line that it prints. */
  run(script: string): string {
    const program = this.tool === undefined ? 'buildah' : join(this.tool, 'usr/bin/buildah');
    const options = `--root ${join(this.folder, 'store')} --runroot ${join(this.folder, 'run')} --storage-driver vfs`;
    // Buildah starts itself again without LD_LIBRARY_PATH.
    const libraries = this.tool && `mount -t overlay overlay -o lowerdir=${join(this.tool, LIBRARIES)}:${LIBRARIES} ${LIBRARIES}`;
    const policy = `--signature-policy ${join(this.folder, 'policy.json')}`;
    const shell = `${libraries ?? ''}
buildah() {
  command=$1
  shift
  case $command in
    bud | commit | from) ${program} ${options} "$command" ${policy} "$@" ;;
    *) ${program} ${options} "$command" "$@" ;;
  esac
}
${script}`;
    const env = {
      ...{ PATH: process.env.PATH ?? '', HOME: this.folder, BUILDAH_ISOLATION: 'chroot' },
      CONTAINERS_REGISTRIES_CONF: join(this.folder, 'registries.conf'),
    };
    return runSync('unshare', ['--mount', 'sh', '-c', shell], { env }).trim().split('\n').at(-1) ?? '';
  }
}

/** Returns the folder into which a package was unpacked; undefined if the program is installed. */
async function toolFolder(name: string): Promise<string | undefined> {
  const tool = await findDebianTool(name);
  if (tool === undefined) throw new Error(`Debian's package ${name} cannot be fetched`);
  return tool.path.startsWith(TOOLS) ? join(TOOLS, name) : undefined;
}

/** Makes what the Dockerfile expects of its base: a shell, Node with npm, and the libraries that they need. */
async function makeBase(root: string): Promise<void> {
  const { writeImageBase } = await import('../../scripts/image/image-base.ts');
  await writeImageBase(root, ['busybox-static']); // stands for the shell and the tools
  for (const folder of ['usr/bin', 'usr/local/lib/node_modules', dirname(CERTIFICATES)]) mkdirSync(join(root, folder), { recursive: true });
  runSync('chroot', [root, '/bin/busybox', '--install', '-s', '/bin']);
  symlinkSync('../../bin/env', join(root, 'usr/bin/env'));
  const npm = dirname(dirname(realpathSync(runSync('sh', ['-c', 'command -v npm']).trim())));
  cpSync(npm, join(root, 'usr/local/lib/node_modules/npm'), { recursive: true, dereference: true });
  symlinkSync('../lib/node_modules/npm/bin/npm-cli.js', join(root, 'usr/local/bin/npm'));
  writeFileSync(join(root, 'usr/bin/apt-get'), APT_GET, { mode: 0o755 });
  if (existsSync(CERTIFICATES)) cpSync(realpathSync(CERTIFICATES), join(root, CERTIFICATES));
}

function runSync(command: string, args: string[], options: { cwd?: string; env?: Record<string, string> } = {}): string {
  const { status, stdout, stderr, error } = spawnSync(command, args, { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024, ...options });
  if (status === 0) return stdout;
  throw new Error(`${command} failed: ${error?.message ?? ''}${stderr.slice(-4_000)}${stdout.slice(-1_000)}`);
}
