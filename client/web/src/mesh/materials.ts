import * as THREE from 'three';
import type { Material } from '../proto/appearance.js';
import type { TextureStore } from './textures.js';

// glTF materials, as APPEARANCE names them, in three.js.

const MASK = 1, BLEND = 2;
const BASE = 0, METALLIC_ROUGHNESS = 1, NORMAL = 2, OCCLUSION = 3, EMISSIVE = 4;

type Lit = THREE.MeshStandardMaterial;

export interface Look { hasColors: boolean; hasUvs: boolean; topology: number; }

/** The material of a part that names none. */
export const plain: Material = {
  name: '', alpha: 0, doubleSided: false, unlit: false, baseColor: [0.8, 0.8, 0.8, 1], emissive: [0, 0, 0],
  metallic: 0, roughness: 0.7, alphaCutoff: 0.5, textures: [],
};

export function makeMaterial(m: Material, look: Look, store: TextureStore): THREE.Material {
  const [r, g, b, a] = m.baseColor as [number, number, number, number];
  const common = {
    name: m.name, color: new THREE.Color(r, g, b), opacity: m.alpha === BLEND ? a : 1,
    transparent: m.alpha === BLEND, depthWrite: m.alpha !== BLEND, alphaTest: m.alpha === MASK ? m.alphaCutoff : 0,
    vertexColors: look.hasColors, side: m.doubleSided ? THREE.DoubleSide : THREE.FrontSide,
  };
  if (look.topology === 1) return new THREE.LineBasicMaterial({ ...common, side: THREE.FrontSide });
  if (look.topology === 2) return new THREE.PointsMaterial({ ...common, side: THREE.FrontSide, size: 2, sizeAttenuation: false });
  if (m.unlit) {
    const made = new THREE.MeshBasicMaterial(common);
    if (look.hasUvs) baseTexture(made, m, store);
    return made;
  }
  const made = new THREE.MeshStandardMaterial({
    ...common, metalness: m.metallic, roughness: m.roughness, emissive: new THREE.Color().fromArray(m.emissive),
  });
  if (look.hasUvs) {
    baseTexture(made, m, store);
    otherTextures(made, m, store);
  }
  return made;
}

/** Runs `set` with the texture once it is there, unless the material has gone by then. */
function put(made: THREE.Material, m: Material, slot: number, colour: boolean, store: TextureStore,
             set: (t: THREE.Texture) => void): void {
  const use = m.textures[slot];
  if (!use) return;
  store.request(use, colour, (texture) => {
    if (made.userData.gone) return texture.dispose();
    set(texture);
    made.needsUpdate = true; // the shader gains a texture
  });
}

function baseTexture(made: THREE.MeshBasicMaterial | Lit, m: Material, store: TextureStore): void {
  put(made, m, BASE, true, store, (t) => { made.map = t; });
}

function otherTextures(made: Lit, m: Material, store: TextureStore): void {
  put(made, m, METALLIC_ROUGHNESS, false, store, (t) => { made.metalnessMap = made.roughnessMap = t; });
  put(made, m, NORMAL, false, store, (t) => {
    made.normalMap = t;
    made.normalScale.setScalar(m.textures[NORMAL]!.strength);
  });
  put(made, m, OCCLUSION, false, store, (t) => {
    made.aoMap = t;
    made.aoMapIntensity = m.textures[OCCLUSION]!.strength;
  });
  put(made, m, EMISSIVE, true, store, (t) => { made.emissiveMap = t; });
}

export function disposeMaterial(made: THREE.Material): void {
  made.userData.gone = true;
  const textures = Object.values(made).filter((value): value is THREE.Texture => value instanceof THREE.Texture);
  for (const texture of new Set(textures)) texture.dispose();
  made.dispose();
}
