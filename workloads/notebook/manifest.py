"""A notebook as the job that runs it: one pod, admitted by its queue, which ends when nobody uses it."""

from tensorplane.workloads.notebook.settings import NotebookSettings
from tensorplane.workloads.training_job.settings import JobSettings, SecretKey
from tensorplane.workloads.training_job.strategies.single import Single

PORT = 8888
TOKEN_KEY = "token"  # noqa: S105
"""Key of the Secret."""
TOKEN_VARIABLE = "JUPYTER_TOKEN"  # noqa: S105
"""Variable that JupyterLab reads."""
# pip's option --target, with which packages are installed, puts the page and the configuration of JupyterLab beside the
# packages, where it does not look.
_PROGRAM = """
import os, pathlib, sys
import jupyterlab
from jupyterlab.labapp import main
installed = pathlib.Path(jupyterlab.__file__).parents[1]
if (installed / "share/jupyter/lab").is_dir():
    os.environ["JUPYTERLAB_DIR"] = str(installed / "share/jupyter/lab")
    os.environ["JUPYTER_PATH"] = str(installed / "share/jupyter")
    os.environ["JUPYTER_CONFIG_PATH"] = str(installed / "etc/jupyter")
folder = os.environ.pop("MODEL_DIR")
os.makedirs(folder, exist_ok=True)
os.chdir(folder)
sys.exit(main([*sys.argv[1:], "--ServerApp.root_dir=" + folder]))
"""


def token_secret(name: str) -> str:
    """Name of the Secret with the notebook's token."""
    return f"{name}-token"


def job(name: str, settings: NotebookSettings) -> JobSettings:
    """The job of a notebook. Its token is in a Secret, and it listens inside the pod only, as a TensorBoard does."""
    idle = settings.idle_minutes * 60
    interval = max(idle // 10, 10)
    options = {
        "ServerApp.ip": "127.0.0.1",
        "ServerApp.port": PORT,
        "ServerApp.port_retries": 0,
        "ServerApp.open_browser": False,
        "ServerApp.shutdown_no_activity_timeout": idle,
        "MappingKernelManager.cull_idle_timeout": idle,
        "MappingKernelManager.cull_interval": interval,
        # A page that is left open is no use.
        "MappingKernelManager.cull_connected": True,
        "TerminalManager.cull_inactive_timeout": idle,
        "TerminalManager.cull_interval": interval,
    }
    return JobSettings(
        strategy=Single(),
        command=["python3", "-c", _PROGRAM, *(f"--{key}={value}" for key, value in options.items())],
        resources=settings.resources,
        volumes=settings.volumes,
        model=settings.folder,
        packages=settings.packages,
        image=settings.image,
        queue=settings.queue,
        env={**settings.env, TOKEN_VARIABLE: SecretKey(secret=token_secret(name), key=TOKEN_KEY)},
        egress=settings.egress,
        max_restarts=0,
        grace_seconds=10,
    )
