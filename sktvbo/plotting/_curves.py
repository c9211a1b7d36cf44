"""Curves over time, one per algorithm."""

from ._common import Display, line_style, styled


class Curves(Display):
    """A display of a curve per algorithm over ``times``, with a band around it."""

    def _draw(self, ax, curves, bands, *, widths, options, step=None, **labels):
        """Draw curves and bands, by algorithm, and keep the lines in ``lines_``.

        Parameters
        ----------
        ax : matplotlib Axes
        curves : dict of str to ndarray of shape (n_times,)
        bands : dict of str to tuple of two ndarrays of shape (n_times,)
            Lower and upper edge; no entry, no band.
        widths : sequence of float
            Of the lines.
        options : dict
            The user's keywords of the lines, which go before these of the display.
        step : "post", default=None
            Where a curve holds its value until the next time.
        **labels
            Title and label of the y axis.
        """
        from matplotlib.lines import Line2D

        self.lines_ = {}
        for i, ((name, curve), width) in enumerate(zip(curves.items(), widths)):
            style = line_style(i) | {"linewidth": width, "label": name}
            if step:
                style["drawstyle"] = f"steps-{step}"
            (line,) = ax.plot(self.times, curve, **styled(style, options, Line2D))
            self.lines_[name] = line
            if name in bands:
                ax.fill_between(
                    self.times,
                    *bands[name],
                    step=step,
                    color=line.get_color(),
                    alpha=0.2,
                    linewidth=0,
                )
        ax.set(xlabel=f"time ({self.time_unit})", **labels)
        ax.set_xlim(self.times[0], self.times[-1])
        ax.grid(alpha=0.3)
        ax.legend()
