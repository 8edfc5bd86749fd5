"""Pictures of the large-sample landscape (paper, Figure 2), and of the chart (Figure 1).

Each function returns a figure of matplotlib (extra ``plot``) or of plotly (extra ``page``); nothing
is shown and no global state is touched.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from riemtr.errors import require
from riemtr.manifolds import Sphere
from riemtr.paper.chart import (
    OUTER_RADIUS,
    REGION_COLOURS,
    REGIONS,
    edge_radius,
    inner_radius,
    region_of,
)
from riemtr.paper.expectation import Landscape

_SURFACE = "viridis"
_PATH = "#d7191c"
# Legend of the path: its start, its steps, its end.
_STORY = ("start, beside a maximizer", "accepted steps", "end, a certified minimizer")
_LABEL = {"boxstyle": "round,pad=0.15", "facecolor": "white", "alpha": 0.75, "edgecolor": "none"}
# The closest look at an atom, in units of the outer radius.
_ZOOM = 1.6
# Values of the length of w in the profile.
_LENGTHS = 120
# Rays of the profile: by symmetry an eighth of the circle has all of them.
_RAYS = 5


def landscape_figure(scene: Landscape) -> Any:
    """Draw the cost on the sphere and over the disk, the chart's regions, and slopes along rays.

    Parameters
    ----------
    scene : Landscape
        From :func:`riemtr.theory.landscape`.

    Returns
    -------
    matplotlib Figure
    """
    colours = require("matplotlib.colors", extra="plot")
    mappable = require("matplotlib.cm", extra="plot").ScalarMappable
    figure = require("matplotlib.figure", extra="plot").Figure((12.0, 10.2), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.15, h_pad=0.08)
    ball = figure.add_subplot(2, 2, 1, projection="3d", computed_zorder=False)
    disk = figure.add_subplot(2, 2, 2, projection="3d", computed_zorder=False)
    whole = sphere_grid(np.linspace(0.0, np.pi, 73), np.linspace(0.0, 2 * np.pi, 145))
    costs = scene.cost.values(whole)
    shades = mappable(colours.Normalize(costs.min(), costs.max()), _SURFACE)
    _draw_ball(ball, whole, shades.to_rgba(costs), scene)
    _draw_disk(disk, shades, scene)
    bar = figure.colorbar(shades, ax=[ball, disk], shrink=0.6, pad=0.04)
    bar.set_label("expected cost $E f(q)$")
    _draw_chart(figure.add_subplot(2, 2, 3), shades, scene)
    _draw_profile(figure.add_subplot(2, 2, 4), scene)
    cost = scene.cost
    figure.suptitle(
        f"Large-sample landscape, n = 3, $\\theta$ = {cost.theta:g}, $\\mu$ = {cost.mu:g}: "
        "the expectation, computed"
    )
    handles, labels = disk.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    return figure


def _draw_ball(axes: Any, points: np.ndarray, colours: np.ndarray, scene: Landscape) -> None:
    _surface(axes, points, colours)
    _mark_path(axes, scene.path)
    for axis, name in zip(np.eye(3), ("$e_1$", "$e_2$", "$e_3$"), strict=True):
        axes.text(*(1.13 * axis), name, fontsize=13, ha="center", va="center", bbox=_LABEL)
    axes.set(xlim=(-0.75, 0.75), ylim=(-0.75, 0.75), zlim=(-0.75, 0.75), box_aspect=(1, 1, 1))
    axes.set_axis_off()
    axes.view_init(elev=26, azim=36)
    axes.set_title("The cost as colour on the sphere", y=1.05)


def _draw_disk(axes: Any, shades: Any, scene: Landscape) -> None:
    # Even steps in the disk's radius, not in the angle: no gaps at the steep rim.
    upper = sphere_grid(np.arcsin(np.linspace(0.0, 1.0, 49)), np.linspace(0.0, 2 * np.pi, 145))
    heights = scene.cost.values(upper)
    _surface(
        axes, np.concatenate([upper[..., :2], heights[..., None]], -1), shades.to_rgba(heights)
    )
    _mark_path(axes, np.column_stack([scene.path[:, :2], scene.path_costs]))
    axes.set(xlim=(-1, 1), ylim=(-1, 1), box_aspect=(1, 1, 0.45))
    axes.set(xlabel="$w_1$", ylabel="$w_2$", xticks=(-1, 0, 1), yticks=(-1, 0, 1), zticks=())
    axes.view_init(elev=48, azim=190)
    axes.set_title("The upper half as height over the section $e_3^\\perp$", y=1.05)


def _draw_chart(axes: Any, shades: Any, scene: Landscape) -> None:
    """Draw the disk from above with the theorem's circles, and the middle of it enlarged."""
    radii = inner_radius(scene.cost.mu), OUTER_RADIUS, edge_radius(3)
    _draw_level_lines(axes, shades, scene, 1.0)
    axes.set(xlim=(-1.02, 1.02), ylim=(-1.02, 1.02), aspect="equal")
    axes.set(xlabel="$w_1$", ylabel="$w_2$", title="The chart from above, and its regions")
    patches = require("matplotlib.patches", extra="plot")
    circle = np.linspace(0.0, 2 * np.pi, 400)
    axes.plot(np.cos(circle), np.sin(circle), color="0.3", linewidth=1.0)
    small = axes.inset_axes([0.63, 0.02, 0.36, 0.36])
    reach = _ZOOM * OUTER_RADIUS
    _draw_level_lines(small, shades, scene, 1.5 * reach)  # to the corners of the square
    small.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal", xticks=(), yticks=())
    small.set_title(f"middle, {1 / reach:.0f}x", fontsize=8, pad=2)
    for colour, radius in zip(REGION_COLOURS, radii, strict=True):
        for panel in (axes, small):
            if panel is axes or radius < reach:
                panel.add_patch(
                    patches.Circle((0, 0), radius, fill=False, edgecolor=colour, linewidth=1.8)
                )
    for panel in (axes, small):
        panel.plot(*scene.path[:, :2].T, "-", color="white", linewidth=2.6)
        panel.plot(*scene.path[:, :2].T, ".-", color=_PATH, linewidth=1.0, markersize=4)
    axes.indicate_inset_zoom(small, edgecolor="black")
    lines = [
        require("matplotlib.lines", extra="plot").Line2D([], [], color=colour, linewidth=1.8)
        for colour in REGION_COLOURS
    ]
    names = [f"{name}: $|w|$ to {radius:.3g}" for name, radius in zip(REGIONS, radii, strict=True)]
    axes.legend(lines, names, loc="upper left", fontsize=8, framealpha=0.9)


def _draw_level_lines(axes: Any, shades: Any, scene: Landscape, reach: float) -> None:
    # Even steps in the angle from the axis, so that the steep rim has as many as the middle.
    polar = np.linspace(0.0, np.arcsin(min(reach, 1.0)), 61)
    points = sphere_grid(polar, np.linspace(0.0, 2 * np.pi, 145))
    first, second = points[..., 0], points[..., 1]
    values = scene.cost.values(points)
    axes.contourf(first, second, values, levels=24, cmap=_SURFACE, norm=shades.norm)
    axes.contour(first, second, values, levels=12, colors="white", linewidths=0.4, alpha=0.6)


def _draw_profile(axes: Any, scene: Landscape) -> None:
    """Draw slope and curvature along rays, whose signs make the regions."""
    mu, edge = scene.cost.mu, edge_radius(3)
    lengths = np.geomspace(mu / 100.0, 0.995 * edge, _LENGTHS)
    angles = np.linspace(0.0, np.pi / 4, _RAYS)
    rays = np.column_stack([np.cos(angles), np.sin(angles)])
    _, slopes, curvatures = scene.cost.along_rays(lengths, rays)
    borders = (lengths[0], inner_radius(mu), OUTER_RADIUS, edge)
    for name, colour, low, high in zip(REGIONS, REGION_COLOURS, borders, borders[1:], strict=False):
        axes.axvspan(low, high, color=colour, alpha=0.13, linewidth=0)
        middle = np.sqrt(low * high)
        axes.text(middle, 0.985, name.replace(" ", "\n"), transform=axes.get_xaxis_transform(),
                  ha="center", va="top", fontsize=8, color="0.25")  # fmt: skip
    for values, colour, label in (
        (slopes, "#222222", "slope $w^*\\nabla g/|w|$"),
        (curvatures * mu, _PATH, "$\\mu$ times curvature $w^*\\nabla^2 g\\,w/|w|^2$"),
    ):
        axes.fill_between(lengths, values.min(1), values.max(1), color=colour, alpha=0.35)
        axes.plot(lengths, values.mean(1), color=colour, linewidth=1.4, label=label)
    axes.axhline(0.0, color="0.4", linewidth=0.8)
    # Later than the theorem's 0.022, which asks for a smaller mu than a picture can show.
    holds = _negative_from(scene, lengths, curvatures, rays)
    axes.axvline(holds, color=_PATH, linewidth=1.0, linestyle=":")
    axes.text(
        1.05 * holds,
        0.03,
        f"curvature negative\nfrom $|w|$ = {holds:.2g}",
        transform=axes.get_xaxis_transform(),
        fontsize=8,
        color=_PATH,
    )
    axes.set(xscale="log", xlim=(lengths[0], edge), xlabel="$|w|$, in all directions")
    low, high = axes.get_ylim()
    axes.set(ylim=(low, high + 0.22 * (high - low)), title="Slope and curvature away from $e_3$")
    axes.legend(loc="lower left", fontsize=8, framealpha=0.9)


def _negative_from(
    scene: Landscape, lengths: np.ndarray, curvatures: np.ndarray, rays: np.ndarray
) -> float:
    """Return the length from which the radial curvature is negative along all rays."""
    last = np.flatnonzero((curvatures >= 0.0).any(axis=1))[-1]
    between = np.linspace(float(lengths[last]), float(lengths[last + 1]), _LENGTHS)
    _, _, finer = scene.cost.along_rays(between, rays)
    return float(between[np.argmax((finer < 0.0).all(axis=1))])


def _mark_path(axes: Any, path: np.ndarray) -> None:
    axes.plot(*path.T, "-", color="white", linewidth=3, zorder=5)
    start, end = path[:1].T, path[-1:].T
    axes.plot(*start, "o", mfc="white", mec=_PATH, ms=8, ls="", zorder=7, label=_STORY[0])
    axes.plot(*path.T, ".-", color=_PATH, linewidth=1.2, ms=4, zorder=6, label=_STORY[1])
    axes.plot(*end, "*", mfc="white", mec=_PATH, ms=14, ls="", zorder=7, label=_STORY[2])


def _surface(axes: Any, points: np.ndarray, colours: np.ndarray) -> None:
    axes.plot_surface(
        *np.moveaxis(points, -1, 0),
        facecolors=colours,
        rstride=1,
        cstride=1,
        shade=False,
        linewidth=0,
        antialiased=False,
        zorder=1,
        rasterized=True,  # or an SVG has ten thousand tiles
    )


def sphere_grid(polar: np.ndarray, azimuth: np.ndarray) -> np.ndarray:
    """Return points of the sphere in R^3 at all pairs of two angles, of shape (.., .., 3)."""
    polar, azimuth = np.meshgrid(polar, azimuth, indexing="ij")
    flat = np.sin(polar)
    return np.stack([flat * np.cos(azimuth), flat * np.sin(azimuth), np.cos(polar)], axis=-1)


def landscape_page(scene: Landscape) -> str:
    """Return the landscape as an HTML page to turn around, of some 5 MB, most of it plotly.js.

    Needs the extra ``page``. The page is one file and loads nothing from elsewhere.
    """
    whole = sphere_grid(np.linspace(0.0, np.pi, 91), np.linspace(0.0, 2 * np.pi, 181))
    upper = sphere_grid(np.arcsin(np.linspace(0.0, 1.0, 61)), np.linspace(0.0, 2 * np.pi, 181))
    costs, heights = scene.cost.values(whole), scene.cost.values(upper)
    limits = {"cmin": float(costs.min()), "cmax": float(costs.max()), "colorscale": "Viridis"}
    ball = {"surfacecolor": costs, "colorbar": {"title": {"text": "E f(q)"}}, **limits}
    disk = {"surfacecolor": heights, "showscale": False, **limits}
    lifted = np.column_stack([scene.path[:, :2], scene.path_costs])
    traces = [
        _plotly_surface(whole, "scene", ball),
        *_plotly_path(scene, 1.004 * scene.path, "scene", legend=True),
        _plotly_surface(np.concatenate([upper[..., :2], heights[..., None]], -1), "scene2", disk),
        *_plotly_path(scene, lifted + np.array([0.0, 0.0, 0.0005]), "scene2", legend=False),
        *_plotly_circles(scene),
    ]
    plain = {"visible": False}
    cost = scene.cost
    layout = {
        "title": {
            "text": f"Large-sample landscape, n = 3, theta = {cost.theta:g}, mu = {cost.mu:g}<br>"
            "<sub>left: the cost as colour; right: the upper half as height over w. Turn with the "
            "mouse, zoom with the wheel: the regions are small circles around w = 0</sub>"
        },
        "scene": {
            "domain": {"x": [0.0, 0.48]},
            "xaxis": plain,
            "yaxis": plain,
            "zaxis": plain,
            "camera": {"eye": {"x": 1.0, "y": 0.75, "z": 0.65}},
        },
        "scene2": {
            "domain": {"x": [0.5, 0.98]},
            "xaxis": {"title": {"text": "w1"}},
            "yaxis": {"title": {"text": "w2"}},
            "zaxis": {"title": {"text": "E f"}},
            "aspectmode": "manual",
            "aspectratio": {"x": 1.0, "y": 1.0, "z": 0.55},
            "camera": {"eye": {"x": -1.05, "y": -0.3, "z": 1.45}},
        },
        "legend": {"orientation": "h", "y": -0.02, "itemsizing": "constant"},
        "height": 700,
        "margin": {"l": 10, "r": 10, "t": 90, "b": 10},
    }
    return require("plotly.io", extra="page").to_html(
        {"data": traces, "layout": layout},
        # Another of plotly's buttons would upload the plot to its makers' server.
        config={"displaylogo": False, "showSendToCloud": False, "responsive": True},
        include_plotlyjs=True,
        validate=False,
    )


def _plotly_surface(points: np.ndarray, where: str, look: dict[str, Any]) -> dict[str, Any]:
    x, y, z = np.moveaxis(points, -1, 0).round(5)
    look = {**look, "surfacecolor": look["surfacecolor"].round(5)}
    return {
        "type": "surface",
        "x": x,
        "y": y,
        "z": z,
        "scene": where,
        "lighting": {"ambient": 1.0, "diffuse": 0.0, "specular": 0.0},  # colours are values
        "hovertemplate": "(%{x:.3f}, %{y:.3f}, %{z:.3f})<extra></extra>",
        **look,
    }


def _plotly_path(
    scene: Landscape, points: np.ndarray, where: str, legend: bool
) -> list[dict[str, Any]]:
    """Return the run's points, in the colours of the regions they are in."""
    regions = region_of(np.linalg.norm(scene.path[:, :2], axis=1), scene.cost.mu)
    line = {"type": "scatter3d", "scene": where, "mode": "lines", "showlegend": legend}
    drawn = [
        {**line, **_coordinates(points), "name": "run", "line": {"color": _PATH, "width": 5}},
    ]
    for number, (name, colour) in enumerate(zip(REGIONS, REGION_COLOURS, strict=True)):
        mine = regions == number
        marks = {"size": 3, "color": colour, "line": {"color": "white", "width": 1}}
        drawn.append(
            {
                "type": "scatter3d",
                "scene": where,
                "mode": "markers",
                **_coordinates(points[mine]),
                "name": f"iterates: {name}",
                "marker": marks,
                "showlegend": legend,
                "text": [f"iteration {i}" for i in np.flatnonzero(mine)],
            }
        )
    return drawn


def _plotly_circles(scene: Landscape) -> list[dict[str, Any]]:
    """Return the borders of the regions on the surface over the disk."""
    turn = np.linspace(0.0, 2 * np.pi, 121)
    radii = inner_radius(scene.cost.mu), OUTER_RADIUS, edge_radius(3)
    circles = []
    for name, colour, radius in zip(REGIONS, REGION_COLOURS, radii, strict=True):
        flat = radius * np.column_stack([np.cos(turn), np.sin(turn)])
        height = np.full((turn.size, 1), np.sqrt(1.0 - radius**2))
        costs = scene.cost.values(np.hstack([flat, height]))
        circles.append(
            {
                "type": "scatter3d",
                "scene": "scene2",
                "mode": "lines",
                **_coordinates(np.column_stack([flat, costs + 0.0005])),
                "name": f"{name}: |w| to {radius:.3g}",
                "line": {"color": colour, "width": 6},
            }
        )
    return circles


def _coordinates(points: np.ndarray) -> dict[str, np.ndarray]:
    return dict(zip("xyz", points.T.round(6), strict=True))


def exponential_figure() -> Any:
    """Draw a tangent plane of the sphere and a vector's image under the exponential map."""
    figure = require("matplotlib.figure", extra="plot").Figure((5.4, 5.2), layout="constrained")
    axes = figure.add_subplot(projection="3d", computed_zorder=False)
    sphere = Sphere(3)
    q = np.array([0.0, 0.28, 0.96])
    across = np.array([1.0, 0.0, 0.0])
    up = np.cross(q, across)
    delta = 0.8 * across + 0.25 * up
    curve = np.array([sphere.exp(q, t * delta) for t in np.linspace(0.0, 1.0, 60)])
    grid = sphere_grid(np.linspace(0.0, np.pi, 61), np.linspace(0.0, 2 * np.pi, 121))
    light = 0.62 + 0.3 * np.clip(grid @ q, 0.0, 1.0)
    shade = np.stack([light * 0.9, light * 0.95, light, np.ones_like(light)], axis=-1)
    _surface(axes, grid, shade)
    corners = 0.95 * np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]])
    plane = q + corners[:, :1] * across + corners[:, 1:] * up
    polygons = require("mpl_toolkits.mplot3d.art3d", extra="plot").Poly3DCollection
    axes.add_collection3d(
        polygons([plane], facecolor="#f2a33a", edgecolor="#b06d10", alpha=0.35, zorder=3)
    )
    axes.plot(*curve.T, color=_PATH, linewidth=2.6, zorder=6)
    axes.plot(*np.array([q, q + delta]).T, color="#22314F", linewidth=2.2, zorder=6)
    for point, name, place in (
        (q, "$q$", (0.1, 0.0, 0.1)),
        (q + delta, "$q + \\delta$", (0.0, 0.0, 0.12)),
        (curve[-1], "$\\exp_q(\\delta)$", (-0.1, 0.0, -0.2)),
    ):
        axes.plot(*point, "o", color="#22314F", markersize=5, zorder=8)
        axes.text(*(point + place), name, fontsize=12, ha="center", bbox=_LABEL, zorder=9)
    axes.text(*(q - 0.65 * across), "$T_q S^{n-1}$", fontsize=12, ha="center", zorder=9)
    axes.set(xlim=(-0.85, 0.85), ylim=(-0.85, 0.85), zlim=(-0.7, 1.0), box_aspect=(1, 1, 1))
    axes.set_axis_off()
    axes.view_init(elev=14, azim=72)
    axes.set_title("Tangent space and exponential map")
    return figure
