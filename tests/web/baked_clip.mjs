// Baked clips in a real page: three.js plays the GLB alone in Chromium, and the vertices it shows
// are compared with the point cache of the model, played from another GLB beside it.
// SINEW_PICTURES=FOLDER keeps a picture of each: baked on the left, the model on the right.
import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import { createRequire } from 'node:module'
import os from 'node:os'
import path from 'node:path'

const modules = process.env.SINEW_WEB_MODULES
const { chromium } = createRequire(path.join(modules, 'x.js'))('playwright-core')
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'sinew-baked-'))
const sinew = (...words) => execFileSync(process.env.SINEW_COMMAND, words, { cwd: folder })

const html = `<script type="importmap">{"imports": {"three": "/three/build/three.module.js",
"three/addons/": "/three/examples/jsm/"}}</script><script type="module">
import * as THREE from 'three'
import { GLTFLoader } from 'three/addons/loaders/GLTFLoader.js'
const files = await Promise.all(['/baked.glb', '/cache.glb'].map(f => new GLTFLoader().loadAsync(f)))
const renderer = new THREE.WebGLRenderer({ preserveDrawingBuffer: true })
renderer.setSize(800, 400)
document.body.append(renderer.domElement)
const box = new THREE.Box3().setFromObject(files[0].scene)
const size = box.getSize(new THREE.Vector3()).length()
const mixers = files.map(f => new THREE.AnimationMixer(f.scene))
files.forEach((f, i) => mixers[i].clipAction(f.animations[0]).play())
const camera = new THREE.OrthographicCamera(-0.7 * size, 0.7 * size, 0.35 * size, -0.35 * size,
    size / 100, 10 * size)
box.getCenter(camera.position).z += 2 * size
// flat shading: the cache has no normals of its own
for (const file of files)
    file.scene.traverse(o => {
        if (o.isMesh) o.material = new THREE.MeshLambertMaterial({ flatShading: true, side: 2 })
    })
const scene = new THREE.Scene()
files[0].scene.position.x -= 0.35 * size
files[1].scene.position.x += 0.35 * size
const sun = new THREE.DirectionalLight(0xffffff, 2)
sun.position.set(-0.3, 0.5, 1)
scene.add(files[0].scene, files[1].scene, sun, new THREE.HemisphereLight(0xffffff, 0x444444, 1))
window.compare = time => {
    const positions = files.map((f, i) => {
        mixers[i].setTime(time)
        let mesh
        f.scene.traverse(o => { if (o.isMesh) mesh = o })
        return Array.from({ length: mesh.geometry.attributes.position.count },
            (_, v) => mesh.getVertexPosition(v, new THREE.Vector3()))
    })
    renderer.render(scene, camera)
    const off = positions[0].map((p, v) => p.distanceTo(positions[1][v]) / size)
    const moved = positions[0].map((p, v) => p.distanceTo(new THREE.Vector3().fromBufferAttribute(
        (() => { let m; files[0].scene.traverse(o => { if (o.isMesh) m = o }); return m })()
            .geometry.attributes.position, v)) / size)
    return { worst: Math.max(...off), moved: Math.max(...moved) }
}
window.ready = true
</script>`

let failed = 0
const browser = await chromium.launch({
    executablePath: '/usr/bin/chromium', timeout: 300000,
    args: ['--no-sandbox', '--use-angle=swiftshader', '--enable-unsafe-swiftshader',
        '--disable-background-networking'],
})
// times in seconds; the largest error and the least motion, fractions of the size
const clips = [
    { rig: 'hand', samples: 400, targets: 20, times: [1, 2.5, 4, 5.5], most: 0.01, least: 0.05 },
    { rig: 'face', samples: 400, targets: 30, times: [0.5, 1, 1.5, 2], most: 0.005, least: 0.01 },
]

async function play({ rig, samples, targets, times, most, least }) {
    sinew('sample', rig, '--vertices', '1000', '--out', rig)
    sinew('bake', rig, '--samples', String(samples), '--max-targets', String(targets),
        '--curves', `${rig}/clip.csv`, '--out', `${rig}.glb`, '--clip-out', 'baked.glb')
    sinew('blend', rig, '--model', 'rotation', '--curves', `${rig}/clip.csv`, '--out', 'cache.pc2')
    sinew('convert', 'cache.pc2', '--mesh', `${rig}/neutral.obj`, 'cache.glb')
    const page = await browser.newPage()
    page.setDefaultTimeout(300000)
    page.on('pageerror', error => { console.log(error.message); failed = 1 })
    await page.route('**/*', route => {
        const name = new URL(route.request().url()).pathname
        const file = path.join(name.startsWith('/three/') ? modules : folder, name)
        if (name === '/') return route.fulfill({ contentType: 'text/html', body: html })
        if (!fs.existsSync(file)) return route.fulfill({ status: 404, body: '' })
        return route.fulfill({
            contentType: file.endsWith('.js') ? 'text/javascript' : 'application/octet-stream',
            body: fs.readFileSync(file),
        })
    })
    await page.goto('http://page.test/')
    await page.waitForFunction('window.ready')
    let largest = 0, farthest = 0
    for (const time of times) {
        const { worst, moved } = await page.evaluate(t => window.compare(t), time)
        largest = Math.max(largest, worst)
        farthest = Math.max(farthest, moved)
        if (process.env.SINEW_PICTURES)
            await page.screenshot({ path: `${process.env.SINEW_PICTURES}/${rig}-${time}.png` })
    }
    await page.close()
    const good = largest < most && farthest > least
    if (!good)
        console.log(`${rig}: a vertex is ${largest} of the size off, and one moves by ${farthest}`)
    console.log(good ? '[  PASSED  ] 1 test(s).' : '[  FAILED  ] 1 test(s).')
    failed ||= !good
}

try {
    for (const clip of clips) await play(clip)
} catch (error) {
    console.log(error.message)
    console.log('[  FAILED  ] 1 test(s).')
    failed = 1
}
await browser.close()
fs.rmSync(folder, { recursive: true })
process.exit(failed ? 1 : 0)
