import * as THREE from 'three';
import { OrbitControls } from 'three/addons/controls/OrbitControls.js';
import { Ground } from './ground.js';

// The room that the characters stand in: light, floor, camera. Metres.

const FIELD_OF_VIEW = 32, PIXEL_RATIO_MAX = 2;
const START_AZIMUTH = 0.45, START_POLAR = 1.36; // from the front, a little from above
const TURN_STEP = 0.12, ZOOM_STEP = 1.15;
const GLIDE_S = 0.45;
const FIT_ROOM = 1.12; // air around what is shown
// What is given up, step by step, on a slow graphics card: pixels, then the softness of shadows.
const LEVELS = [{ pixels: 1, shadow: 2048 }, { pixels: 0.75, shadow: 1024 }, { pixels: 0.6, shadow: 512 }] as const;
const SLOW_MS = 34, SLOW_FRAMES = 24;

export interface Margins { right: number; bottom: number; top: number; } // pixels that the panel covers

/** No graphics card: every pixel costs processor time, so the stage starts on its lowest level. */
function drawsInSoftware(): boolean {
  const gl = document.createElement('canvas').getContext('webgl2', { antialias: false });
  const info = gl?.getExtension('WEBGL_debug_renderer_info');
  const name = info ? String(gl!.getParameter(info.UNMASKED_RENDERER_WEBGL)) : '';
  gl?.getExtension('WEBGL_lose_context')?.loseContext();
  return /swiftshader|llvmpipe|software|basic render/i.test(name);
}

export class Stage {
  readonly scene = new THREE.Scene();
  readonly cast = new THREE.Group();
  readonly renderer: THREE.WebGLRenderer;
  readonly camera = new THREE.PerspectiveCamera(FIELD_OF_VIEW, 1, 0.01, 1000);
  readonly controls: OrbitControls;
  private readonly ground = new Ground();
  private readonly sky = new THREE.HemisphereLight(0xffffff, 0x444444, 1);
  private readonly sun = new THREE.DirectionalLight(0xfff4e6, 2.6);
  private readonly rim = new THREE.DirectionalLight(0xbfd4ff, 0.9);
  private margins: Margins = { right: 0, bottom: 0, top: 0 };
  private glide: { from: THREE.Vector3[]; to: THREE.Vector3[]; at: number } | null = null;
  private level = 0;
  private slow = 0;
  private readonly calm = matchMedia('(prefers-reduced-motion: reduce)');

  constructor(canvas: HTMLCanvasElement) {
    const slow = drawsInSoftware();
    if (slow) this.level = LEVELS.length - 1;
    this.renderer = new THREE.WebGLRenderer({ canvas, antialias: !slow, alpha: true, powerPreference: 'high-performance' });
    this.renderer.shadowMap.enabled = true;
    this.renderer.shadowMap.type = slow ? THREE.BasicShadowMap : THREE.PCFShadowMap;
    if (slow) this.ground.simplify();
    this.renderer.toneMapping = THREE.NeutralToneMapping;
    this.renderer.toneMappingExposure = 1.05;
    this.sun.castShadow = true;
    this.sun.shadow.mapSize.setScalar(LEVELS[this.level]!.shadow);
    this.sun.shadow.radius = 5;
    this.sun.shadow.normalBias = 0.02;
    this.scene.add(this.ground, this.cast, this.sky, this.sun, this.sun.target, this.rim, this.rim.target);
    this.scene.environment = this.softbox();
    this.scene.environmentIntensity = 0.45;
    this.controls = new OrbitControls(this.camera, canvas);
    this.controls.enableDamping = true;
    this.controls.dampingFactor = 0.12;
    this.controls.maxPolarAngle = Math.PI * 0.52;
    this.controls.autoRotateSpeed = 1.2;
    this.controls.addEventListener('start', () => { this.glide = null; });
    canvas.addEventListener('keydown', (e) => this.onKey(e));
    this.camera.position.setFromSphericalCoords(4, START_POLAR, START_AZIMUTH);
    this.surround(new THREE.Box3(new THREE.Vector3(-0.5, 0, -0.5), new THREE.Vector3(0.5, 1.7, 0.5)));
  }

  /** Colours from the style sheet, after the theme has changed. */
  dress(): void {
    const style = getComputedStyle(document.documentElement);
    const colour = (name: string): string => style.getPropertyValue(name).trim();
    const light = document.documentElement.dataset.theme === 'light';
    this.ground.colours(colour('--ground-line'), colour('--ground-shadow'), light ? 0.3 : 0.5);
    this.sky.color.set(colour('--sky'));
    this.sky.groundColor.set(colour('--earth'));
    this.sky.intensity = light ? 1.15 : 0.95;
  }

  resize(margins: Margins): void {
    this.margins = margins;
    const w = innerWidth, h = innerHeight;
    this.renderer.setPixelRatio(Math.min(devicePixelRatio, PIXEL_RATIO_MAX) * LEVELS[this.level]!.pixels);
    this.renderer.setSize(w, h, false);
    this.camera.aspect = w / h;
    // The middle of the view is the middle of what no panel covers.
    this.camera.setViewOffset(w, h, margins.right / 2, (margins.bottom - margins.top) / 2, w, h);
    this.camera.updateProjectionMatrix();
  }

  /** Shows the whole box; from the front on `reset`, else from where the camera stands. */
  fit(box: THREE.Box3, reset: boolean): void {
    if (box.isEmpty()) return;
    this.surround(box);
    const centre = box.getCenter(new THREE.Vector3());
    const away = new THREE.Spherical().setFromVector3(this.camera.position.clone().sub(this.controls.target));
    if (reset) away.set(1, START_POLAR, START_AZIMUTH);
    const distance = away.radius = this.distanceFor(box, away);
    const position = new THREE.Vector3().setFromSpherical(away).add(centre);
    this.controls.minDistance = distance * 0.08;
    this.controls.maxDistance = distance * 6;
    this.camera.near = distance * 0.01;
    this.camera.far = distance * 40;
    this.camera.updateProjectionMatrix();
    if (reset || this.calm.matches) {
      this.camera.position.copy(position);
      this.controls.target.copy(centre);
    } else {
      this.glide = { from: [this.camera.position.clone(), this.controls.target.clone()], to: [position, centre], at: 0 };
    }
  }

  /** From where, in that direction, every corner of the box is in what no panel covers. */
  private distanceFor(box: THREE.Box3, away: THREE.Spherical): number {
    const back = new THREE.Vector3().setFromSpherical(away).normalize(), centre = box.getCenter(new THREE.Vector3());
    const right = new THREE.Vector3(0, 1, 0).cross(back).normalize(), up = back.clone().cross(right);
    const tan = Math.tan(THREE.MathUtils.degToRad(FIELD_OF_VIEW / 2)) / FIT_ROOM;
    const wide = tan * this.camera.aspect * Math.max(0.3, 1 - this.margins.right / innerWidth);
    const tall = tan * Math.max(0.3, 1 - (this.margins.bottom + this.margins.top) / innerHeight);
    let distance = 0.1;
    for (let i = 0; i < 8; i++) {
      const corner = new THREE.Vector3(i & 1 ? box.max.x : box.min.x, i & 2 ? box.max.y : box.min.y,
        i & 4 ? box.max.z : box.min.z).sub(centre);
      const near = corner.dot(back);
      distance = Math.max(distance, near + Math.abs(corner.dot(right)) / wide, near + Math.abs(corner.dot(up)) / tall);
    }
    return distance;
  }

  /** Moves the camera along with whom it looks at. */
  follow(step: THREE.Vector3): void {
    if (step.lengthSq() === 0) return;
    this.camera.position.add(step);
    this.controls.target.add(step);
    for (const point of this.glide ? [...this.glide.from, ...this.glide.to] : []) point.add(step);
  }

  /** Turns the camera about whom it looks at: radians to the left, and upwards. */
  look(left: number, up: number): void {
    if (!left && !up) return;
    this.glide = null;
    const away = new THREE.Spherical().setFromVector3(this.camera.position.clone().sub(this.controls.target));
    away.theta += left;
    away.phi = Math.min(this.controls.maxPolarAngle, Math.max(0.05, away.phi + up));
    this.camera.position.setFromSpherical(away).add(this.controls.target);
    this.camera.lookAt(this.controls.target);
  }

  render(seconds: number): void {
    this.govern(seconds * 1000);
    if (this.glide) {
      const g = this.glide;
      g.at = Math.min(1, g.at + seconds / GLIDE_S);
      const s = g.at * g.at * (3 - 2 * g.at);
      this.camera.position.lerpVectors(g.from[0]!, g.to[0]!, s);
      this.controls.target.lerpVectors(g.from[1]!, g.to[1]!, s);
      if (g.at === 1) this.glide = null;
    }
    this.controls.update(seconds);
    this.renderer.render(this.scene, this.camera);
  }

  /** Floor, light and shadow for what stands in the box. */
  surround(box: THREE.Box3): void {
    const centre = box.getCenter(new THREE.Vector3()), size = box.getSize(new THREE.Vector3()).length();
    this.ground.fit(centre, size);
    this.sun.target.position.copy(centre);
    this.sun.position.copy(centre).add(new THREE.Vector3(-0.55, 1.25, 0.85).multiplyScalar(size));
    this.rim.target.position.copy(centre);
    this.rim.position.copy(centre).add(new THREE.Vector3(0.9, 0.6, -1).multiplyScalar(size));
    const shadow = this.sun.shadow.camera, half = size * 0.6;
    shadow.left = shadow.bottom = -half;
    shadow.right = shadow.top = half;
    shadow.near = size * 0.1;
    shadow.far = size * 3.2;
    shadow.updateProjectionMatrix();
    this.sun.shadow.normalBias = size * 0.004;
  }

  /** Many slow frames in a row: one level down. A hidden page draws none and does not count. */
  private govern(frameMs: number): void {
    this.slow = frameMs > SLOW_MS ? this.slow + 1 : Math.max(0, this.slow - 2);
    if (this.slow < SLOW_FRAMES || this.level === LEVELS.length - 1) return;
    this.slow = 0;
    this.level++;
    this.sun.shadow.mapSize.setScalar(LEVELS[this.level]!.shadow);
    this.sun.shadow.map?.dispose();
    this.sun.shadow.map = null;
    this.resize(this.margins);
  }

  private onKey(e: KeyboardEvent): void {
    const turns: Record<string, [number, number]> = {
      ArrowLeft: [-TURN_STEP, 0], ArrowRight: [TURN_STEP, 0], ArrowUp: [0, -TURN_STEP], ArrowDown: [0, TURN_STEP],
    };
    const turn = turns[e.key], zoom = e.key === '+' || e.key === '=' ? 1 / ZOOM_STEP : e.key === '-' ? ZOOM_STEP : 1;
    if (e.ctrlKey || e.metaKey || e.altKey || (!turn && zoom === 1)) return;
    e.preventDefault();
    this.look(turn?.[0] ?? 0, turn?.[1] ?? 0);
    if (zoom === 1) return;
    this.glide = null;
    const away = this.camera.position.clone().sub(this.controls.target);
    away.setLength(Math.min(this.controls.maxDistance, Math.max(this.controls.minDistance, away.length() * zoom)));
    this.camera.position.copy(away).add(this.controls.target);
  }

  /** What metal reflects: a bright ceiling, a window on each side, a dark floor. */
  private softbox(): THREE.Texture {
    const room = new THREE.Scene(), make = new THREE.PMREMGenerator(this.renderer);
    const panel = (colour: number, power: number, w: number, h: number, x: number, y: number, z: number): void => {
      const mesh = new THREE.Mesh(new THREE.PlaneGeometry(w, h),
        new THREE.MeshBasicMaterial({ color: new THREE.Color(colour).multiplyScalar(power), side: THREE.DoubleSide }));
      mesh.position.set(x, y, z);
      mesh.lookAt(0, 0, 0);
      room.add(mesh);
    };
    room.background = new THREE.Color(0x5a606b);
    panel(0xffffff, 5, 6, 6, 0, 5, 0);
    panel(0xfff0dd, 6, 3, 5, -5, 1.5, 3);
    panel(0xdde8ff, 4, 3, 5, 5, 1.5, -2);
    panel(0x2a2520, 1, 14, 14, 0, -4, 0);
    const made = make.fromScene(room, 0.04).texture;
    make.dispose();
    return made;
  }
}
