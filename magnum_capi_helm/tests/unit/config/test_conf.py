# SPDX-License-Identifier: Apache-2.0

"""Options: those of 1.4.0 go on working, and values are derived."""

from __future__ import annotations

import os
import pathlib
import tempfile
from typing import Any
from unittest import mock

import fixtures
from oslo_config import cfg
from oslo_config import fixture
from oslotest import base

from magnum_capi_helm import features
from magnum_capi_helm import runtime
from magnum_capi_helm.config import conf
from magnum_capi_helm.config import options
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import labels
from magnum_capi_helm.tests.unit.lifecycle import base as flows

CHARTS = "https://azimuth-cloud.github.io/capi-helm-charts"

#: [capi_helm] of 1.4.0: option, its default, text in a file, what is read.
#: The chart's version is the one default that is new.
OPTIONS: list[tuple[str, Any, str, Any]] = [
    ("kubeconfig_file", "", "/etc/kube", "/etc/kube"),
    ("namespace_prefix", "magnum", "east", "east"),
    ("helm_chart_repo", CHARTS, "", ""),
    ("helm_chart_name", "openstack-cluster", "oci://r/c", "oci://r/c"),
    ("default_helm_chart_version", "0.27.0", "0.10.1", "0.10.1"),
    ("minimum_flavor_ram", 2048, "4096", 4096),
    ("minimum_flavor_vcpus", 2, "1", 1),
    ("csi_cinder_default_volume_type", None, "fast", "fast"),
    ("csi_cinder_allowed_topologies", [], "az1,az2", ["az1", "az2"]),
    ("app_cred_interface_type", "public", "internal", "internal"),
    (
        "api_resources",
        {},
        '{"K8sControlPlane": {"plural_name": "kamajicontrolplanes"}}',
        {"K8sControlPlane": {"plural_name": "kamajicontrolplanes"}},
    ),
    (
        "k8s_control_plane_resource_conditions",
        [
            "MachinesReady",
            "Ready",
            "EtcdClusterHealthy",
            "ControlPlaneComponentsHealthy",
        ],
        "Ready",
        ["Ready"],
    ),
]

#: [capi_helm_cluster_labels] of 1.4.0, likewise.
LABELS: list[tuple[str, Any, str, Any]] = [
    ("etcd_blockdevice_size", 0, "10", 10),
    ("etcd_blockdevice_type", "volume", "local", "local"),
    ("etcd_blockdevice_volume_type", "", "fast", "fast"),
    ("etcd_blockdevice_volume_az", "", "az1", "az1"),
    ("monitoring_enabled", False, "true", True),
    ("kube_dashboard_enabled", True, "false", False),
    ("auto_healing_enabled", True, "false", False),
    ("auto_scaling_enabled", False, "true", True),
    ("min_node_count", None, "1", 1),
    ("max_node_count", None, "5", 5),
    ("keystone_auth_enabled", False, "true", True),
    ("csi_cinder_availability_zone", "nova", "az1", "az1"),
    ("csi_cinder_reclaim_policy", "Retain", "Delete", "Delete"),
    (
        "csi_cinder_volume_binding_mode",
        "WaitForFirstConsumer",
        "Immediate",
        "Immediate",
    ),
    ("csi_cinder_fstype", "ext4", "xfs", "xfs"),
    ("csi_cinder_allow_volume_expansion", True, "false", False),
    ("octavia_provider", "amphora", "ovn", "ovn"),
    ("octavia_lb_algorithm", "", "SOURCE_IP_PORT", "SOURCE_IP_PORT"),
    ("octavia_lb_healthcheck", True, "false", False),
    ("master_lb_floating_ip_enabled", True, "false", False),
    ("fixed_subnet_cidr", "10.0.0.0/24", "10.1.0.0/16", "10.1.0.0/16"),
    ("api_master_lb_allowed_cidrs", (), "192.0.2.0/24", ("192.0.2.0/24",)),
    ("extra_network_names", (), "a b", ("a", "b")),
    ("boot_volume_type", None, "fast", "fast"),
    ("boot_volume_size", None, "30", 30),
]

#: Where 1.4.0 found options before: group, name, text -> option, value.
FORMER: list[tuple[str, str, str, str, Any]] = [
    ("", "etcd_volume_size", "10", "etcd_blockdevice_size", 10),
    ("", "etcd_volume_type", "fast", "etcd_blockdevice_volume_type", "fast"),
    (
        "_cluster_labels",
        "extra_network_name",
        "a",
        "extra_network_names",
        ("a",),
    ),
    *(
        ("", name, text, name, value)
        for name, _, text, value in LABELS
        if name.startswith("csi_cinder")
    ),
]


class _ConfTest(base.BaseTestCase):
    def _read(self, text: str) -> cfg.ConfigOpts:
        """The driver's options as a file with this text gives them."""
        read = cfg.ConfigOpts()
        # Magnum's; the default of chart_store refers to it.
        read.register_opt(cfg.StrOpt("state_path", default="/var/lib/magnum"))
        for group, declared in conf.list_opts():
            read.register_group(group)
            read.register_opts(declared, group=group)
        with tempfile.NamedTemporaryFile("w", suffix=".conf") as file:
            file.write(text)
            file.flush()
            read(["--config-file", file.name])
        return read


class OptionsTest(_ConfTest):
    def test_options_and_labels_of_1_4_0_keep_default_and_type(self) -> None:
        for group, rows in (
            ("capi_helm", OPTIONS),
            ("capi_helm_cluster_labels", LABELS),
        ):
            lines = [f"{name} = {text}" for name, _, text, _ in rows]
            read = self._read("\n".join([f"[{group}]", *lines]))[group]
            silent = self._read("")[group]
            self.assertEqual(
                rows,
                [
                    (name, silent[name], text, read[name])
                    for name, _, text, _ in rows
                ],
            )

    def test_former_places_of_options_are_still_read(self) -> None:
        for group, old, text, name, value in FORMER:
            read = self._read(f"[capi_helm{group}]\n{old} = {text}")
            self.assertEqual(value, read.capi_helm_cluster_labels[name], old)

    def test_a_new_place_beats_a_former_one(self) -> None:
        read = self._read(
            "[capi_helm]\ncsi_cinder_fstype = ext3\n"
            "[capi_helm_cluster_labels]\ncsi_cinder_fstype = xfs\n"
        )
        self.assertEqual(
            "xfs", read.capi_helm_cluster_labels.csi_cinder_fstype
        )

    def test_a_value_that_is_not_allowed_is_refused(self) -> None:
        rows = [
            ("capi_helm", "app_cred_interface_type", "private"),
            ("capi_helm", "api_resources", "[]"),
            ("capi_helm", "minimum_flavor_ram", "-1"),
            ("capi_helm_cluster_labels", "csi_cinder_reclaim_policy", "Keep"),
            ("capi_helm_cluster_labels", "fixed_subnet_cidr", "10.0.0.1/24"),
        ]
        for group, name, text in rows:
            read = self._read(f"[{group}]\n{name} = {text}")
            self.assertRaises(
                cfg.ConfigFileValueError, getattr, read[group], name
            )


class UnknownOptionsTest(base.BaseTestCase):
    def unknown(self, *texts: str) -> list[str]:
        home = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        for number, text in enumerate(texts):
            (home / f"{number}.conf").write_text(text)
        self.addCleanup(conf.CONF.reset)
        conf.CONF(
            ["--config-dir", str(home)],
            project="magnum",
            default_config_files=[],
        )
        return list(conf.unknown_options())

    def test_each_misspelt_name_is_shown_with_the_nearest(self) -> None:
        rows = {
            "[capi_helm]\nchart_stroe = /x": [
                "[capi_helm] has no option chart_stroe (did you mean "
                "chart_store?)"
            ],
            "[capi_helm]\nzzz = 1": ["[capi_helm] has no option zzz"],
            "[capi_helm_cluster_labels]\nboot_volume_sise = 5": [
                "[capi_helm_cluster_labels] has no option boot_volume_sise "
                "(did you mean boot_volume_size?)"
            ],
            "[capi-helm]\nkubeconfig_file = /x": [
                "the driver has no group [capi-helm] (did you mean capi_helm?)"
            ],
            "[capi_helm]\nmanagement_clusters = east\n"
            "[capi_helm_management_east]\nkubeconfig = /x\n"
            "[capi_helm_management_west]\nkubeconfig_file = /x": [
                "[capi_helm_management_east] has no option kubeconfig (did "
                "you mean kubeconfig_file?)",
                "the driver has no group [capi_helm_management_west] (did "
                "you mean capi_helm_management_east?)",
            ],
            # Of the old placement.
            "[capi_helm]\nmanagement_clusters = east\n"
            "[capi_helm_management_east]\nkubeconfig_file = /x\n"
            "weight = 50\nprojects = p": [
                "[capi_helm_management_east] has no option projects",
                "[capi_helm_management_east] has no option weight",
            ],
        }
        self.assertEqual(rows, {text: self.unknown(text) for text in rows})

    def test_right_names_and_groups_of_others_are_no_trouble(self) -> None:
        names = [
            f"[{group.name}]\n" + "\n".join(f"{opt.dest} =" for opt in opts)
            for group, opts in conf.ALL_OPTS.items()
        ]
        former = "[CAPI_HELM]\ncsi_cinder_fstype = ext4"
        self.assertEqual([], self.unknown(*names, former))
        self.assertEqual([], self.unknown("[magnum_client]\nregion = a"))


class SampleTest(_ConfTest):
    def test_defaults_of_the_sample_file_are_read_again(self) -> None:
        lines = []
        for group, declared in conf.list_opts():
            lines.append(f"[{group.name}]")
            for opt in declared:
                if opt.default is not None:
                    shown = opt.type.format_defaults(opt.default)[0]
                    lines.append(f"{opt.name} = {shown}")
        told, silent = self._read("\n".join(lines)), self._read("")
        for group, declared in conf.list_opts():
            self.assertEqual(
                {opt.name: silent[group.name][opt.dest] for opt in declared},
                {opt.name: told[group.name][opt.dest] for opt in declared},
            )

    def test_each_option_has_a_help_text(self) -> None:
        options = [opt for _, each in conf.list_opts() for opt in each]
        self.assertEqual([], [opt.name for opt in options if not opt.help])


class DefaultsTest(base.BaseTestCase):
    def test_every_cluster_label_is_an_option_and_no_other(self) -> None:
        self.assertEqual(
            {
                label.name
                for label in features.LABELS
                if label.scope is not labels.Scope.TEMPLATE
            },
            set(conf.label_defaults()),
        )

    def test_the_operators_option_is_the_default_of_the_label(self) -> None:
        config = self.useFixture(fixture.Config(conf.CONF))
        config.config(group="capi_helm_cluster_labels", octavia_provider="ovn")
        self.assertEqual("ovn", conf.label_defaults()["octavia_provider"])

    def test_both_spellings_of_an_interface(self) -> None:
        config = self.useFixture(fixture.Config(conf.CONF))
        for given in ("internal", "internalURL"):
            config.config(group="capi_helm", app_cred_interface_type=given)
            self.assertEqual("internal", conf.interface())


class HelmTest(base.BaseTestCase):
    def test_only_the_operator_sets_it(self) -> None:
        config = self.useFixture(fixture.Config(conf.CONF))
        self.assertFalse(conf.chart_store_is_set())
        config.config(state_path="/var/lib/magnum")
        self.assertFalse(conf.chart_store_is_set())
        config.load_raw_values(
            group="capi_helm", chart_store="/var/lib/charts"
        )
        self.assertTrue(conf.chart_store_is_set())

    def test_a_conductor_that_can_t_write_uses_temporary_space(self) -> None:
        # Files that another test has read would hide values loaded later.
        conf.CONF.reset()
        config = self.useFixture(fixture.Config(conf.CONF))
        home = self.useFixture(fixtures.TempDir()).path
        self.useFixture(fixtures.MonkeyPatch("tempfile.tempdir", home))
        self.addCleanup(runtime.reset)
        # No directory can be made below a file.
        config.config(state_path=f"{__file__}/magnum")
        self.assertEqual(
            pathlib.Path(home, f"magnum-capi-helm-{os.geteuid()}"),
            runtime.build().charts.place(),
        )
        store = f"{__file__}/charts"
        config.load_raw_values(group="capi_helm", chart_store=store)
        error = self.assertRaises(
            errors.NotConfigured, runtime.build().charts.place
        )
        self.assertIn(f"the chart store {store} can't be written", str(error))

    def test_each_worker_has_its_share_of_the_processors(self) -> None:
        for configured, processors, workers, expected in (
            (0, 2, None, 2),
            (0, 64, None, 2),
            (0, 1, 1, 2),
            (0, 8, 1, 8),
            (0, 8, 2, 4),
            (1, 8, 1, 1),
            (20, 2, None, 20),
        ):
            config = self.useFixture(fixture.Config(conf.CONF))
            config.config(group="capi_helm", max_helm_processes=configured)
            config.config(group="conductor", workers=workers)
            host = mock.patch.object(
                os, "sched_getaffinity", return_value=range(processors)
            )
            with host:
                self.assertEqual(expected, conf.helm_processes())


class ManagementClustersTest(base.BaseTestCase):
    def _found(
        self, names: list[str], **groups: dict[str, Any]
    ) -> tuple[options.ManagementCluster, ...]:
        config = self.useFixture(fixture.Config(conf.CONF))
        config.config(group="capi_helm", management_clusters=names)
        for name, chosen in groups.items():
            group = f"capi_helm_management_{name}"
            config.register_opts(
                options.MANAGEMENT_CLUSTER_OPTIONS, group=group
            )
            config.config(group=group, **chosen)
        return conf.management_clusters()

    def test_without_a_list_there_is_one_without_a_name(self) -> None:
        config = self.useFixture(fixture.Config(conf.CONF))
        config.config(group="capi_helm", kubeconfig_file="/etc/kube")
        one = options.ManagementCluster(
            "", "/etc/kube", "[capi_helm] kubeconfig_file"
        )
        self.assertEqual((one,), conf.management_clusters())

    def test_each_name_has_its_group(self) -> None:
        paths = {"east": "/e", "west-2": "/w"}
        groups = {name: {"kubeconfig_file": paths[name]} for name in paths}
        self.assertEqual(
            tuple(
                options.ManagementCluster(
                    name=name,
                    kubeconfig=path,
                    option=f"[capi_helm_management_{name}] kubeconfig_file",
                )
                for name, path in paths.items()
            ),
            self._found(list(paths), **groups),
        )

    def test_a_missing_or_wrong_option_is_named(self) -> None:
        kube = {"kubeconfig_file": "/k"}
        option = "[capi_helm] management_clusters"
        rows: list[tuple[list[str], dict[str, Any], str]] = [
            (
                ["a", "b"],
                {"a": kube},
                f"{option} names b: set [capi_helm_management_b] "
                "kubeconfig_file to its kubeconfig",
            ),
            (["a", "a"], {"a": kube}, f"{option} has 'a': give each "),
            (["A b"], {}, f"{option} has 'A b': give each "),
        ]
        for names, groups, expected in rows:
            error = self.assertRaises(
                errors.NotConfigured, self._found, names, **groups
            )
            self.assertIn(expected, str(error))

    def test_names_fit_into_a_group_of_options(self) -> None:
        for name in ("a", "east-1", "az_2", "0", "a" * 63):
            self.assertTrue(options.is_management_cluster_name(name), name)
        for name in ("", "A", "-a", "a-", "a b", "a.b", "a@b", "a" * 64):
            self.assertFalse(options.is_management_cluster_name(name), name)


class KubeconfigPathTest(base.BaseTestCase):
    def _path(self, configured: str, environment: dict[str, str]) -> str:
        config = self.useFixture(fixture.Config(conf.CONF))
        config.config(group="capi_helm", kubeconfig_file=configured)
        with mock.patch.dict(os.environ, {"HOME": "/home/magnum"}):
            os.environ.pop("KUBECONFIG", None)
            os.environ.update(environment)
            return conf.kubeconfig_path()

    def test_the_option_precedes_environment_and_home(self) -> None:
        home = "/home/magnum/.kube/config"
        for option, environment, path in (
            ("/etc/kube", "/env/one", "/etc/kube"),
            ("~/kube", "/env/one", "/home/magnum/kube"),
            ("", "/env/one", "/env/one"),
            ("", "/env/one:/env/two", "/env/one"),
            ("", "", home),
            ("", None, home),
        ):
            given = {} if environment is None else {"KUBECONFIG": environment}
            self.assertEqual(path, self._path(option, given))


class LoggedOptionsTest(flows.FlowTestCase):
    def test_the_first_use_logs_each_misspelt_option_once(self) -> None:
        home = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        file = home / "magnum.conf"
        file.write_text(
            "[capi_helm]\nchart_stroe = /srv\n"
            "[capi_helm_cluster_labels]\nboot_volume_sise = 5\n"
        )
        conf.CONF([], project="magnum", default_config_files=[str(file)])
        # Commands that ran in this process before have raised its level.
        log = self.useFixture(fixtures.FakeLogger("magnum_capi_helm.runtime"))
        self.create()
        self.poll()
        self.assertEqual(
            [
                "[capi_helm] has no option chart_stroe (did you mean "
                "chart_store?): what it sets has no effect",
                "[capi_helm_cluster_labels] has no option boot_volume_sise "
                "(did you mean boot_volume_size?): what it sets has no effect",
            ],
            log.output.splitlines(),
        )
