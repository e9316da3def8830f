"""The child side of a run: runs the user's script, unmodified, in this process and writes down what it does.

A process of the script has one :class:`~ddpdoctor.harness.child.observer.Observer`. It is installed before any of the
user's code runs (``install.py``), in the processes that the script starts too (``births.py``), and patches what it
observes, one subject a module (``subjects.py``). Everything redirected from CUDA and NCCL to the CPU and gloo stands
apart (``redirect/``) and is left out on a machine that has the GPUs. Only the standard library is imported until the
script imports torch itself.
"""
