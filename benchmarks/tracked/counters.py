"""What solvers ask of a cost, on every registered problem: exact numbers, the same on any machine.

Seconds depend on the machine and on its other users; counters change only with the code. Where one
of them rises from one commit to the next, that commit has made something worse, or has a reason.
"""

from typing import Any

import riemtr
import riemtr.data
from riemtr.problems.zoo import zoo

SEEDS = range(5)
SOLVERS = {
    "practical": riemtr.PracticalTRM(tolerance=1e-6),
    "first-order": riemtr.PracticalTRM(tolerance=1e-6, goal="first-order"),
    "lbfgs": riemtr.LBFGS(tolerance=1e-6),
}


class Zoo:
    """The small problems of the zoo, from five seeds each."""

    params = ([name for name, _ in zoo("small")], list(SOLVERS))
    param_names = ("problem", "solver")
    timeout = 300

    def setup(self, problem: str, solver: str) -> None:
        """Solve from all seeds."""
        parameters: dict[str, Any] = dict(zoo("small"))[problem]
        cases = [riemtr.problems.build(problem, rng=seed, **parameters) for seed in SEEDS]
        self.results = [SOLVERS[solver].solve(case.problem, case.start) for case in cases]

    def track_iterations(self, problem: str, solver: str) -> int:
        """Steps tried."""
        return sum(result.iterations for result in self.results)

    def track_gradients(self, problem: str, solver: str) -> int:
        """Gradients."""
        return sum(result.counts.gradients for result in self.results)

    def track_hessian_products(self, problem: str, solver: str) -> int:
        """Hessian products, those of certification included."""
        return sum(result.counts.hessian_products for result in self.results)

    def track_converged(self, problem: str, solver: str) -> int:
        """Runs that reached their goal, of five."""
        return sum(result.converged for result in self.results)


class Recovery:
    """A dictionary of 12 atoms, from 1500 samples."""

    def setup(self) -> None:
        """Recover it."""
        model = riemtr.data.BernoulliGaussian(12, 1500, 0.2)
        self.found = riemtr.recover_dictionary(model.draw(0).observations, rng=0)

    def track_proved(self) -> int:
        """Rows that are proved."""
        return self.found.count("proved")
